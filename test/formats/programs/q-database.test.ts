/** The databases of Amazon Q and Kiro, as the programs lay them out. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { InputError } from '../../../src/core/errors.ts'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { readConversation, writeConversation } from '../../../src/formats/formats.ts'
import { isDatabase, readRowOf, writeRowTo } from '../../../src/formats/programs/q-database.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-q-'))
})
afterAll(() => rm(folder, { recursive: true }))

const said = [chat.user('hi', { at: 1_766_000_000_000 }), chat.assistant('ho')]
const rowOf = (format: 'amazon-q-row' | 'kiro-row', key: string, id: string) =>
  writeConversation(said, format, { folder: key, id }).text

/** Migrations and other tables are there too. */
async function database(name: string, sql: string): Promise<string> {
  const file = join(folder, name)
  using made = new DatabaseSync(file)
  made.exec(`CREATE TABLE migrations (id INTEGER PRIMARY KEY, version INTEGER); ${sql}`)
  return file
}

const older = 'CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);'
const newer =
  'CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (key, conversation_id));'

describe('a database', () => {
  test('a database is recognised by its first bytes', () => {
    expect([isDatabase(Buffer.from('SQLite format 3\0…')), isDatabase(Buffer.from('[]'))]).toEqual([true, false])
  })

  test('a database of Amazon Q gives the one conversation, the one of this folder, or the named one', async () => {
    const file = await database('q.sqlite3', older)
    await writeRowTo(file, rowOf('amazon-q-row', '/a', 'one'), false)
    const only = readConversation(await readRowOf(file, { folder: '/elsewhere' }))
    expect(only).toMatchObject({ format: 'amazon-q-row', title: '/a' })
    expect(only.messages).toMatchObject([
      { type: 'user', at: 1_766_000_000_000, content: [{ text: 'hi' }] },
      { type: 'assistant', content: [{ text: 'ho' }] },
    ])
    await writeRowTo(file, rowOf('amazon-q-row', '/b', 'two'), false)
    const keyOf = async (wanted: Parameters<typeof readRowOf>[1]) =>
      (JSON.parse(await readRowOf(file, wanted)) as { key: string }).key
    expect(await keyOf({ folder: '/b' })).toBe('/b')
    expect(await keyOf({ folder: '/b', conversation: '/a' })).toBe('/a')
    await expect(readRowOf(file, { folder: '/c' })).rejects.toThrow(
      /holds 2 conversations\. Name one of these \(--conversation\): \/a, \/b\.$/,
    )
    await expect(readRowOf(file, { folder: '/a', conversation: '/c' })).rejects.toThrow(/holds no conversation \/c\./)
  })

  test('a database of Kiro gives the newest conversation of this folder, or the one with the id', async () => {
    const file = await database('kiro.sqlite3', older + newer)
    await writeRowTo(file, rowOf('kiro-row', '/a', 'one'), false)
    await writeRowTo(file, rowOf('kiro-row', '/a', 'two'), false)
    using opened = new DatabaseSync(file)
    const ids = opened
      .prepare('SELECT conversation_id AS id FROM conversations_v2 ORDER BY rowid')
      .all()
      .map(({ id }) => String(id))
    opened.prepare('UPDATE conversations_v2 SET updated_at = 9999999999999 WHERE conversation_id = ?').run(ids[0] ?? '')
    const idOf = async (conversation?: string) =>
      readConversation(await readRowOf(file, { folder: '/a', conversation })).id
    expect(await idOf()).toBe(ids[0])
    expect(await idOf(ids[1])).toBe(ids[1])
  })

  test('a database gets a row only where none is, unless it is told to replace it', async () => {
    const file = join(folder, 'new.sqlite3')
    const row = rowOf('amazon-q-row', '/a', 'one')
    await writeRowTo(file, row, false)
    await expect(writeRowTo(file, row, false)).rejects.toThrow(/has a conversation of the folder \/a; add --force/)
    await writeRowTo(file, row, true)
    expect(readConversation(await readRowOf(file, { folder: '/' })).messages).toHaveLength(2)
  })

  test('a database without these tables, or a damaged one, is refused with a sentence', async () => {
    const empty = await database('empty.sqlite3', '')
    const damaged = join(folder, 'damaged.sqlite3')
    await writeFile(damaged, `SQLite format 3\0${'x'.repeat(5_000)}`)
    const refusals: readonly [Promise<unknown>, RegExp][] = [
      [readRowOf(empty, { folder: '/' }), /holds no conversation of Amazon Q or Kiro\.$/],
      [writeRowTo(empty, rowOf('kiro-row', '/a', 'one'), false), /has no table conversations_v2\.$/],
      [readRowOf(damaged, { folder: '/' }), /cannot be used: /],
      [readRowOf(join(folder, 'none.sqlite3'), { folder: '/' }), /cannot be used: /],
    ]
    for (const [refusal, says] of refusals) {
      const thrown: unknown = await refusal.catch((reason: unknown) => reason)
      expect(thrown).toBeInstanceOf(InputError)
      expect((thrown as Error).message).toMatch(says)
    }
  })
})
