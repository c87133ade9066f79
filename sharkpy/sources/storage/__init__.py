"""Objects of storage beyond local files: S3, Google Cloud Storage, Azure and HTTP, behind one protocol (`Store`)."""
