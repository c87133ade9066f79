"""Storage other than local files through one protocol (`Store`): S3, Google Cloud Storage, Azure, HTTP and HDFS."""
