"""Settings of remote storage, by Hadoop's names: endpoints and keys, for all buckets or for one.

`names_secret` recognizes the secrets among them by name.
"""

from __future__ import annotations

from sharkpy.base.endpoint import check_account, check_endpoint, check_hosts, check_region
from sharkpy.base.settings.setting import Setting

S3_ACCESS_KEY = Setting(
    "fs.s3a.access.key",
    "",
    "Id of the key for S3. As fs.s3a.bucket.<bucket>.access.key it counts for that bucket alone; so do all fs.s3a.….",
    patterns=("fs.s3a.bucket.*.access.key",),
)
S3_SECRET_KEY = Setting(
    "fs.s3a.secret.key", "", "Secret key for S3, beside its id.", patterns=("fs.s3a.bucket.*.secret.key",)
)
S3_SESSION_TOKEN = Setting(
    "fs.s3a.session.token", "", "Token that temporary keys for S3 have.", patterns=("fs.s3a.bucket.*.session.token",)
)
S3_CREDENTIALS = Setting(
    "fs.s3a.aws.credentials.provider",
    "",
    "Where keys for S3 are looked for, by Hadoop's class names, several with commas; empty: see docs/storage.md.",
    is_guarded=True,
    patterns=("fs.s3a.bucket.*.aws.credentials.provider",),
)
S3_ENDPOINT = Setting(
    "fs.s3a.endpoint",
    "",
    "Host of S3, or of what serves its protocol: [http[s]://]host[:port]; empty: Amazon's of the region.",
    patterns=("fs.s3a.bucket.*.endpoint",),
    check=check_endpoint,
    is_address=True,
)
S3_REGION = Setting(
    "fs.s3a.endpoint.region",
    "",
    "Region of S3; empty: that of the environment or the profile.",
    patterns=("fs.s3a.bucket.*.endpoint.region",),
    check=check_region,
)
S3_PATH_STYLE = Setting(
    "fs.s3a.path.style.access",
    "",
    "Whether a bucket is part of the path and not of the host's name; empty: where the endpoint is not Amazon's.",
    patterns=("fs.s3a.bucket.*.path.style.access",),
    choices=("", "true", "false"),
)
S3_TLS = Setting(
    "fs.s3a.connection.ssl.enabled",
    True,
    "TLS to an endpoint that does not say http or https.",
    patterns=("fs.s3a.bucket.*.connection.ssl.enabled",),
)
S3_BULK_DELETE = Setting(
    "fs.s3a.multiobjectdelete.enable",
    True,
    "Delete many objects by one request, which some servers do not know.",
    patterns=("fs.s3a.bucket.*.multiobjectdelete.enable",),
)
GS_ENDPOINT = Setting(
    "fs.gs.storage.root.url",
    "",
    "Host of Google's storage: http[s]://host[:port]; empty: https://storage.googleapis.com.",
    check=check_endpoint,
    is_address=True,
)
GS_AUTHENTICATION = Setting(
    "fs.gs.auth.type", "", "UNAUTHENTICATED: Google's storage is asked without a key, for what all may read."
)
GS_KEY_FILE = Setting(
    "fs.gs.auth.service.account.json.keyfile",
    "",
    "File with the key of a service account for Google's storage, or with application default credentials.",
    is_guarded=True,
)
GS_ACCESS_TOKEN = Setting(
    "fs.gs.auth.access.token",
    "",
    "Token for Google's storage, as gcloud auth print-access-token gives it, which ends within the hour.",
)
GS_CLIENT_ID = Setting(
    "fs.gs.auth.client.id", "", "Id of a program that asks Google's storage in the name of a user, beside its secret."
)
GS_CLIENT_SECRET = Setting("fs.gs.auth.client.secret", "", "Secret of that program.")
GS_REFRESH_TOKEN = Setting("fs.gs.auth.refresh.token", "", "Token of the user that has let the program do so.")
AZURE_ACCOUNT = Setting(
    "fs.azure.abfs.account.name",
    "",
    "Storage account of containers whose URI names none: az://container.",
    check=check_account,
)
AZURE_ENDPOINT = Setting(
    "fs.azure.storage.endpoint",
    "",
    "Host of Azure's storage: http[s]://host[:port][/account]; empty: https://<account>.blob.core.windows.net.",
    check=check_endpoint,
    is_address=True,
)
AZURE_ACCOUNT_KEY = Setting(
    "fs.azure.account.key",
    "",
    "Key of a storage account of Azure; fs.azure.account.key.<account>.dfs.core.windows.net: of one.",
    patterns=("fs.azure.account.key.*",),
)
AZURE_SAS = Setting(
    "fs.azure.sas.fixed.token",
    "",
    "Shared access signature for Azure; fs.azure.sas.<container>.<account>.blob.core.windows.net: for one container.",
    patterns=("fs.azure.sas.*",),
)
AZURE_CLIENT_ID = Setting(
    "fs.azure.account.oauth2.client.id",
    "",
    "Id of a program that logs in to Azure; with .<account>.dfs.core.windows.net: for one account.",
    patterns=("fs.azure.account.oauth2.client.id.*",),
)
AZURE_CLIENT_SECRET = Setting(
    "fs.azure.account.oauth2.client.secret",
    "",
    "Secret of that program.",
    patterns=("fs.azure.account.oauth2.client.secret.*",),
)
AZURE_CLIENT_ENDPOINT = Setting(
    "fs.azure.account.oauth2.client.endpoint",
    "",
    "Where it logs in: https://login.microsoftonline.com/<tenant>/oauth2/token.",
    patterns=("fs.azure.account.oauth2.client.endpoint.*",),
    check=check_endpoint,
    is_address=True,
)
HADOOP_CONF_DIR = Setting(
    "shark.hadoop.conf.dir",
    "",
    "Folder of core-site.xml and hdfs-site.xml, which count behind what is set; empty: HADOOP_CONF_DIR.",
    is_guarded=True,
)
METADATA_SERVICE = Setting(
    "shark.storage.metadata.service",
    False,
    "Where no keys are found, ask the service from which machines and containers of a cloud have their role's keys.",
    is_guarded=True,
)
PRIVATE_HOSTS = Setting(
    "shark.storage.private.hosts",
    "",
    "Hosts at private addresses, and networks, that sessions of remote users may name as endpoints, with commas.",
    is_guarded=True,
    check=check_hosts,
)
STORAGE_FILES = Setting(
    "shark.storage.files.max",
    1_000_000,
    "Files that one statement may list in remote places; 0: any number.",
    is_guarded=True,
)
KEEP_SECONDS = Setting(
    "shark.storage.keep.seconds",
    600.0,
    "Seconds for which what others hide in remote folders stays: for readers on other machines.",
    least=0,
    is_guarded=True,
)
