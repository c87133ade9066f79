"""Settings of the engine: a file of rows a subject, in the table `SETTINGS`; `Conf` has a session's values of them.

A new setting is one row in the file of its subject: the star imports here and the table take it from there.
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
