"""Settings of remote storage, by Hadoop's names: endpoints and keys, for all buckets or for one.

`names_secret` recognizes the secrets among them by name.
"""

from __future__ import annotations

from sharkpy.base.endpoint import check_account, check_endpoint, check_hosts, check_region
from sharkpy.base.settings.setting import Setting

S3_ACCESS_KEY = Setting(
    "fs.s3a.access.key",
    "",
    "Id of the key for S3. Like all keys fs.s3a.…, it may be set for one bucket: fs.s3a.bucket.<bucket>.access.key.",
    patterns=("fs.s3a.bucket.*.access.key",),
)
S3_SECRET_KEY = Setting("fs.s3a.secret.key", "", "Secret key for S3.", patterns=("fs.s3a.bucket.*.secret.key",))
S3_SESSION_TOKEN = Setting(
    "fs.s3a.session.token", "", "Session token of temporary keys for S3.", patterns=("fs.s3a.bucket.*.session.token",)
)
S3_CREDENTIALS = Setting(
    "fs.s3a.aws.credentials.provider",
    "",
    "Sources of keys for S3, by Hadoop's class names, separated by commas. Empty: see docs/storage.md.",
    is_guarded=True,
    patterns=("fs.s3a.bucket.*.aws.credentials.provider",),
)
S3_ENDPOINT = Setting(
    "fs.s3a.endpoint",
    "",
    "Host of S3 or of a compatible server: [http[s]://]host[:port]. Empty: Amazon's host for the region.",
    patterns=("fs.s3a.bucket.*.endpoint",),
    check=check_endpoint,
    is_address=True,
)
S3_REGION = Setting(
    "fs.s3a.endpoint.region",
    "",
    "Region of S3. Empty: the region of the environment or the profile.",
    patterns=("fs.s3a.bucket.*.endpoint.region",),
    check=check_region,
)
S3_PATH_STYLE = Setting(
    "fs.s3a.path.style.access",
    "",
    "Write the bucket into the path, not into the host name. Empty: true if the endpoint is not Amazon's.",
    patterns=("fs.s3a.bucket.*.path.style.access",),
    choices=("", "true", "false"),
)
S3_TLS = Setting(
    "fs.s3a.connection.ssl.enabled",
    True,
    "Use TLS for an endpoint that names neither http nor https.",
    patterns=("fs.s3a.bucket.*.connection.ssl.enabled",),
)
S3_BULK_DELETE = Setting(
    "fs.s3a.multiobjectdelete.enable",
    True,
    "Delete many objects by one request. Some servers do not support this.",
    patterns=("fs.s3a.bucket.*.multiobjectdelete.enable",),
)
GS_ENDPOINT = Setting(
    "fs.gs.storage.root.url",
    "",
    "Host of Google Cloud Storage: http[s]://host[:port]. Empty: https://storage.googleapis.com.",
    check=check_endpoint,
    is_address=True,
)
GS_AUTHENTICATION = Setting(
    "fs.gs.auth.type", "", "UNAUTHENTICATED: send no key to Google Cloud Storage, for public objects."
)
GS_KEY_FILE = Setting(
    "fs.gs.auth.service.account.json.keyfile",
    "",
    "File with the key of a service account for Google Cloud Storage, or with application default credentials.",
    is_guarded=True,
)
GS_ACCESS_TOKEN = Setting(
    "fs.gs.auth.access.token",
    "",
    "Access token for Google Cloud Storage, such as gcloud auth print-access-token prints. It expires within an hour.",
)
GS_CLIENT_ID = Setting("fs.gs.auth.client.id", "", "OAuth client id for Google Cloud Storage.")
GS_CLIENT_SECRET = Setting("fs.gs.auth.client.secret", "", "OAuth client secret for Google Cloud Storage.")
GS_REFRESH_TOKEN = Setting("fs.gs.auth.refresh.token", "", "OAuth refresh token of the user for Google Cloud Storage.")
AZURE_ACCOUNT = Setting(
    "fs.azure.abfs.account.name",
    "",
    "Storage account of containers whose URI does not name one: az://container.",
    check=check_account,
)
AZURE_ENDPOINT = Setting(
    "fs.azure.storage.endpoint",
    "",
    "Host of Azure storage: http[s]://host[:port][/account]. Empty: https://<account>.blob.core.windows.net.",
    check=check_endpoint,
    is_address=True,
)
AZURE_ACCOUNT_KEY = Setting(
    "fs.azure.account.key",
    "",
    "Key of an Azure storage account. fs.azure.account.key.<account>.dfs.core.windows.net sets it for one account.",
    patterns=("fs.azure.account.key.*",),
)
AZURE_SAS = Setting(
    "fs.azure.sas.fixed.token",
    "",
    "Shared access signature for Azure. fs.azure.sas.<container>.<account>.blob.core.windows.net sets it for"
    " one container.",
    patterns=("fs.azure.sas.*",),
)
AZURE_CLIENT_ID = Setting(
    "fs.azure.account.oauth2.client.id",
    "",
    "OAuth client id for Azure. With .<account>.dfs.core.windows.net it is for one account.",
    patterns=("fs.azure.account.oauth2.client.id.*",),
)
AZURE_CLIENT_SECRET = Setting(
    "fs.azure.account.oauth2.client.secret",
    "",
    "OAuth client secret for Azure.",
    patterns=("fs.azure.account.oauth2.client.secret.*",),
)
AZURE_CLIENT_ENDPOINT = Setting(
    "fs.azure.account.oauth2.client.endpoint",
    "",
    "OAuth token endpoint for Azure: https://login.microsoftonline.com/<tenant>/oauth2/token.",
    patterns=("fs.azure.account.oauth2.client.endpoint.*",),
    check=check_endpoint,
    is_address=True,
)
HADOOP_CONF_DIR = Setting(
    "shark.hadoop.conf.dir",
    "",
    "Folder of core-site.xml and hdfs-site.xml. Settings of the session take precedence. Empty: the folder in"
    " HADOOP_CONF_DIR.",
    is_guarded=True,
)
METADATA_SERVICE = Setting(
    "shark.storage.metadata.service",
    False,
    "If no keys are found, ask the cloud's metadata service for the keys of the machine's or container's role.",
    is_guarded=True,
)
PRIVATE_HOSTS = Setting(
    "shark.storage.private.hosts",
    "",
    "Private hosts and networks that sessions of remote users may name as endpoints, separated by commas.",
    is_guarded=True,
    check=check_hosts,
)
STORAGE_FILES = Setting(
    "shark.storage.files.max",
    1_000_000,
    "Maximum files that one statement lists in remote storage. 0: no limit.",
    is_guarded=True,
)
KEEP_SECONDS = Setting(
    "shark.storage.keep.seconds",
    600.0,
    "Seconds that replaced files remain in remote folders, for readers on other machines.",
    least=0,
    is_guarded=True,
)
