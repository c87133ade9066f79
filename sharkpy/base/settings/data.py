"""Settings of data: files and their formats, INSERT and MERGE, and remote storage by Hadoop's names."""

from __future__ import annotations

import re

from sharkpy.base.endpoint import check_account, check_endpoint, check_hosts, check_region
from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.parse_limits import shortened
from sharkpy.base.settings.setting import Setting

SPLIT_BYTES = Setting("shark.source.split.bytes", 64 << 20, "Bytes of a file split.", least=1)
LINE_BYTES = Setting(
    "shark.text.line.max.bytes",
    256 << 20,
    "Maximum bytes of a line of a text file. A query that reads a longer line fails. 0: no limit.",
    is_guarded=True,
)
DEFAULT_FORMAT = Setting(
    "hive.default.fileformat",
    "TextFile",
    "Format of a table that is created without STORED AS. A table made from a query is Parquet unless this is set.",
)
RCFILE_SERDE = Setting(
    "hive.default.rcfile.serde",
    "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    "SerDe of a table created as RCFILE.",
)
TEXT_TORN = Setting(
    "shark.text.torn.rows",
    False,
    "Write strings that hold delimiters to text tables without ESCAPED BY, as Hive does. Reading splits such strings.",
)
COMPRESS_OUTPUT = Setting(
    "hive.exec.compress.output",
    False,
    "Compress the text files, sequence files, RCFiles and Avro files that statements write.",
)
OUTPUT_CODEC = Setting(
    "mapreduce.output.fileoutputformat.compress.codec",
    "org.apache.hadoop.io.compress.DefaultCodec",
    "Class of the codec if output is compressed.",
    synonyms=("mapred.output.compression.codec",),
)
OUTPUT_COMPRESSION_TYPE = Setting(
    "mapreduce.output.fileoutputformat.compress.type",
    "RECORD",
    "Compression of sequence files: RECORD or BLOCK.",
    synonyms=("mapred.output.compression.type",),
)


_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def _check_default_partition(text: str) -> str:
    if text != _DEFAULT_PARTITION:
        raise UnsupportedError(
            f'another hive.exec.default.partition.name than "{_DEFAULT_PARTITION}" is not supported',
            hint="other sessions also find the Hive partition of NULL by this name",
        )
    return text


DYNAMIC_PARTITION = Setting("hive.exec.dynamic.partition", True, "Let INSERT leave partition columns without a value.")
DYNAMIC_PARTITION_MODE = Setting(
    "hive.exec.dynamic.partition.mode",
    "nonstrict",
    "strict: INSERT has to give at least one partition column a value.",
    choices=("nonstrict", "strict"),
)
DEFAULT_PARTITION_NAME = Setting(
    "hive.exec.default.partition.name",
    _DEFAULT_PARTITION,
    "Text for NULL and empty strings in the names of Hive partitions. Only this text is supported.",
    check=_check_default_partition,
)
MAX_DYNAMIC_PARTITIONS = Setting(
    "hive.exec.max.dynamic.partitions", 1000, "Maximum Hive partitions that one INSERT writes."
)
MAX_TASK_PARTITIONS = Setting(
    "hive.exec.max.dynamic.partitions.pernode", 1000, "Maximum Hive partitions that one task of an INSERT writes."
)
MERGE_CHECK = Setting(
    "hive.merge.cardinality.check", True, "Fail a MERGE if several rows of its source match one row of the table."
)


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
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(second|minute|hour|day|week)s?", re.ASCII | re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


def duration_seconds(text: str) -> float:
    """Return the seconds of a duration, such as 7 days or 36 hours. Raise ConfigurationError for another text."""
    if text.strip() == "0":
        return 0.0
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        message = f'"{shortened(text)}" is not a duration'
        raise ConfigurationError(message, hint="write a number and a unit, as in 7 days, or 0", sqlstate="22023")
    return float(match[1]) * _SECONDS[match[2].lower()]


def _checked_duration(text: str) -> str:
    duration_seconds(text)
    return text.strip()


RETENTION = Setting(
    "shark.table.retention",
    "7 days",
    "Time for which earlier versions of managed tables, and dropped tables, can be read or restored. Their files remain"
    " for this time. 0: files are deleted at once. A table may have a property of the same name.",
    is_guarded=True,
    check=_checked_duration,
)
RETAINED_VERSIONS = Setting(
    "shark.table.retention.versions",
    1000,
    "Maximum versions of a table that are retained.",
    is_guarded=True,
    least=1,
)
UNREAD_RETENTION = Setting(
    "shark.table.retention.unread",
    "14 days",
    "Time for which the changes of a table are retained if a stream WITH CHANGES has not read them.",
    is_guarded=True,
    check=_checked_duration,
)
