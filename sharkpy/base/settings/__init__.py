"""Settings of the engine: one file of rows per subject, joined in the table `SETTINGS`. `Conf` holds a session's
values.

A new setting is one row in the file of its subject. The star imports here and the table pick it up.
"""

from sharkpy.base.settings.conf import Conf as Conf
from sharkpy.base.settings.engine import *
from sharkpy.base.settings.files import *
from sharkpy.base.settings.history import *
from sharkpy.base.settings.language import *
from sharkpy.base.settings.metastore import *
from sharkpy.base.settings.planning import *
from sharkpy.base.settings.queries import *
from sharkpy.base.settings.scripts import *
from sharkpy.base.settings.setting import Setting as Setting
from sharkpy.base.settings.storage import *
from sharkpy.base.settings.store import *
from sharkpy.base.settings.streaming import *
from sharkpy.base.settings.table import SETTINGS as SETTINGS
from sharkpy.base.settings.table import check_known as check_known
from sharkpy.base.settings.table import find_setting as find_setting
from sharkpy.base.settings.table import is_address as is_address
from sharkpy.base.settings.table import is_guarded as is_guarded
from sharkpy.base.settings.writes import *
