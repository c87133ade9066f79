"""Objects of storage beyond local files, S3, Google's, Azure's, HTTP and HDFS, behind one protocol (`Store`)."""
