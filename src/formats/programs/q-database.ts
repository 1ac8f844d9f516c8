/**
 * Duty: the databases of the Amazon Q command line and of Kiro: one conversation read from its row, or written as a row.
 * Q-DATABASE-1 A database is opened for reading only, unless a row is written. No row is replaced without a word of the caller.
 */
import { InputError, LimitError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'

/** How a file of SQLite begins. */
const magic = Buffer.from('SQLite format 3\0')

export function isDatabase(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, magic.length)).equals(magic)
}

/** The newer table comes first. */
const tables = [
  { name: 'conversations_v2', order: 'updated_at DESC', id: 'conversation_id', times: 'created_at, updated_at' },
  { name: 'conversations', order: 'key', id: 'NULL', times: 'NULL AS created_at, NULL AS updated_at' },
] as const

interface RowHead {
  readonly table: string
  readonly rowid: number
  readonly key: string
  readonly conversation_id: string | null
  readonly bytes: number
}

/** Names a conversation by its id, or by its folder. */
export interface WantedRow {
  readonly conversation?: string | undefined
  /** Taken if nothing is named, and the database has a conversation of this folder. */
  readonly folder: string
}

const namedMost = 10

/** The row as JSON, for `readConversation`. Throws an InputError that names the conversations if none was chosen. */
export async function readRowOf(file: string, { conversation, folder }: WantedRow): Promise<string> {
  const { DatabaseSync } = await import('node:sqlite')
  try {
    using database = new DatabaseSync(file, { readOnly: true })
    const heads = tables.flatMap(({ name, order, id }): RowHead[] => {
      if (!hasTable(database, name)) return []
      const sql = `SELECT '${name}' AS "table", rowid, CAST(key AS TEXT) AS key, ${id} AS conversation_id, LENGTH(CAST(value AS BLOB)) AS bytes FROM ${name} ORDER BY ${order}`
      return database.prepare(sql).all() as unknown as RowHead[]
    })
    const head = chosen(heads, conversation, folder, file)
    if (head.bytes > policy.conversationBytesMax)
      throw new LimitError(
        'message_too_big',
        `the conversation ${nameOf(head)} has ${head.bytes} bytes; the limit is ${policy.conversationBytesMax}.`,
      )
    const columns =
      head.table === 'conversations' ? 'key, value' : 'key, conversation_id, value, created_at, updated_at'
    return JSON.stringify(database.prepare(`SELECT ${columns} FROM ${head.table} WHERE rowid = ?`).get(head.rowid))
  } catch (cause) {
    throw asInputError(cause, file)
  }
}

type Database = InstanceType<typeof import('node:sqlite').DatabaseSync>

function hasTable(database: Database, name: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !== undefined
}

function chosen(heads: readonly RowHead[], wanted: string | undefined, folder: string, file: string): RowHead {
  if (heads.length === 0) throw new InputError(`the database ${file} holds no conversation of Amazon Q or Kiro.`)
  const found =
    wanted === undefined
      ? heads.length === 1
        ? heads[0]
        : heads.find(({ key }) => key === folder)
      : (heads.find(({ conversation_id }) => conversation_id === wanted) ?? heads.find(({ key }) => key === wanted))
  if (found !== undefined) return found
  const names = heads.slice(0, namedMost).map(nameOf).join(', ')
  const more = heads.length > namedMost ? ` and ${heads.length - namedMost} more` : ''
  const what = wanted === undefined ? `holds ${heads.length} conversations` : `holds no conversation ${wanted}`
  throw new InputError(`the database ${file} ${what}. Name one of these (--conversation): ${names}${more}.`)
}

function nameOf({ key, conversation_id }: RowHead): string {
  return conversation_id === null ? key : `${conversation_id} (${key})`
}

/** Writes a row of `amazon-q-row` or `kiro-row`. A new file gets the table; a file without the table is refused. */
export async function writeRowTo(file: string, rowText: string, isForced: boolean): Promise<void> {
  const row = JSON.parse(rowText) as Readonly<Record<string, string | number>>
  const isNewer = 'conversation_id' in row
  const table = isNewer ? 'conversations_v2' : 'conversations'
  const { DatabaseSync } = await import('node:sqlite')
  try {
    using database = new DatabaseSync(file)
    const isNew = database.prepare('SELECT 1 FROM sqlite_master').get() === undefined
    if (isNew)
      database.exec(
        isNewer
          ? 'CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (key, conversation_id))'
          : 'CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT)',
      )
    else if (!hasTable(database, table)) throw new InputError(`the database ${file} has no table ${table}.`)
    const names = Object.keys(row)
    const sql = `INSERT ${isForced ? 'OR REPLACE ' : ''}INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
    database.prepare(sql).run(...Object.values(row))
  } catch (cause) {
    if (cause instanceof Error && /UNIQUE constraint failed/.test(cause.message))
      throw new InputError(
        `the database ${file} has a conversation of the folder ${row.key}; add --force to replace it.`,
        { cause },
      )
    throw asInputError(cause, file)
  }
}

function asInputError(cause: unknown, file: string): Error {
  if (cause instanceof InputError || cause instanceof LimitError) return cause
  return new InputError(
    `the database ${file} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`,
    { cause },
  )
}
