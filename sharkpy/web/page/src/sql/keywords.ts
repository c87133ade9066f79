/** Words of HiveQL, for colours. */

export const KEYWORDS =
  "add after all alter analyze and as asc between by cache case cast cluster columns comment commit compact create cross cube current current_date current_timestamp database databases delete desc describe distinct distribute div drop else emit end escape except exists explain export extended external false fetch fields filter first following for format formatted from full function functions generate grant group grouping having if ignore ilike import in inner insert intersect interval into is join kill last lateral left like limit load local map merge minus natural not null nulls offset on or order outer over overwrite partition partitioned partitions preceding profile qualify queries query range recover refresh regexp rename replace reset respect revoke right rlike rollback rollup row rows select semi set sets show sort stored stream streams struct table tables tablesample tblproperties temporary then to true truncate unbounded uncache union unique update use using values view views watermark when where window with within";

export const TYPES =
  "array bigint binary boolean char date decimal double float int integer interval map numeric smallint string struct timestamp tinyint varchar";

const KEYWORD_SET = new Set(KEYWORDS.split(" "));
const TYPE_SET = new Set(TYPES.split(" "));

export function wordClass(word: string): "keyword" | "type" | null {
  const lower = word.toLowerCase();
  if (KEYWORD_SET.has(lower)) return "keyword";
  return TYPE_SET.has(lower) ? "type" : null;
}
