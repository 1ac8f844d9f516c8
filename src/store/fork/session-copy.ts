/**
 * Duty: write a copy of a session, from its cut, under new ids.
 * SESSION-COPY-1 The copy is the session as it was at the moment of the cut, whatever the session has done since.
 * SESSION-COPY-2 No script writes more than a bounded part. Nobody sees these writes before the last one (FORK-STORE-1).
 */
import { type BlobRef, encodeBlobLine } from '../../core/blob.ts'
import { LimitError, NotFoundError } from '../../core/errors.ts'
import { forkedEntry, forkedMail } from '../../core/fork/forked-entry.ts'
import { ForkedIds } from '../../core/fork/forked-ids.ts'
import { policy } from '../../core/policy.ts'
import { noticeOfAsk } from '../../core/webhook/notice.ts'
import { rehashed } from '../../core/worker/ask/approval-ask.ts'
import { decodeAskBody, encodeAskBody } from '../../core/worker/ask/ask.ts'
import { type ForkNote, forkedRecord } from '../record/forked-record.ts'
import { permissionsName } from '../record/kept-permissions.ts'
import { decodeRecord } from '../record/worker-record.ts'
import { StoredDamage, storeError } from '../redis/store-error.ts'
import type { RecordFields } from '../script/replies.ts'
import type { AppearOrder, Cut, CutWorker, ForkStore, Part } from './fork-store.ts'

/** How much is read at once, and written by one script. */
const elementsMost = 200
const bytesMost = 131_072
/** Nobody knows how large the first elements of a list are. */
const elementsFirst = 16
const blobPieceBytes = 1_048_576

type Copied = AppearOrder['workers'][number]

export class SessionCopy {
  readonly #store: ForkStore
  readonly #cut: Cut
  readonly #note: ForkNote
  readonly #ids: ForkedIds
  /** What was written, by key: how many elements, names, or bytes of a string. */
  readonly #sizes = new Map<string, { readonly sort: Part['sort']; size: number }>()
  readonly #due: string[] = []
  readonly #open: string[] = []
  /** Asks of the session by the time when they were made, as the set of the session has them. */
  readonly #asks: string[] = []
  /** Permissions that the session keeps for its records. */
  readonly #permissions = new Set<string>()
  /** Endpoints are told of its open asks, as of any others; of a dry run they are told nothing. */
  #tellsEndpoints = false
  #waiting: Part[] = []
  #bytes = 0

  constructor(store: ForkStore, cut: Cut, copyId: string, note: ForkNote) {
    this.#store = store
    this.#cut = cut
    this.#note = note
    this.#ids = idsOf(cut, note.from, copyId)
  }

  /** Writes the whole copy. Returns what `appear` needs. */
  async write(): Promise<Omit<AppearOrder, 'event' | 'told'>> {
    // Once: a list that is read later may be of a session that was pruned meanwhile.
    const blobs = await this.#store.blobs.list(this.#note.from)
    this.#checkKeys(blobs)
    this.#tellsEndpoints = !this.#note.isDryRun && (await this.#store.hasEndpoints())
    const workers: Copied[] = []
    for (const worker of this.#cut.workers) workers.push(await this.#worker(worker))
    await this.#session(workers)
    await this.#blobs(blobs)
    await this.#flush()
    return {
      sessionId: this.#ids.sessionId,
      from: this.#note.from,
      workers,
      keys: [...this.#sizes].map(([key, { sort, size }]) => ({ key, sort: sort === 'bytes' ? 'string' : sort, size })),
      due: this.#due,
      open: this.#open,
      isCancelling: this.#cut.isCancelling,
    }
  }

  /** One script makes all keys of the copy stay (SESSION-COPY-2). */
  #checkKeys(blobs: readonly BlobRef[]): void {
    const { workers } = this.#cut
    this.#checkTimers()
    const most = policy.forkKeysMax
    const asks = workers.reduce((sum, worker) => sum + worker.asks.length, 0)
    const own = workers.reduce(
      (sum, { parts, historyLength }) => sum + Object.keys(parts).length + (historyLength > 0 ? 2 : 1),
      0,
    )
    const keys = own + asks + blobs.length
    if (keys <= most) return
    throw new LimitError(
      'step_too_big',
      `session ${this.#note.from} has ${workers.length} workers, ${asks} open asks and ${blobs.length} blobs, which are ${keys} keys of Redis; a copy has ${most} at most, since one script lets all of it appear. Fork it when fewer asks are open; troupe worker fork begins a new conversation with the messages of one of its agents.`,
    )
  }

  #checkTimers(): void {
    const most = policy.forkTimersMax
    const timers = this.#cut.workers.reduce((sum, { due }) => sum + Object.keys(due).length, 0)
    if (timers <= most) return
    throw new LimitError(
      'step_too_big',
      `session ${this.#note.from} waits for ${timers} timers, retries and expiries of asks; a copy has ${most} at most, since one script sets all of them. Fork it when it waits for fewer; troupe worker fork begins a new conversation with the messages of one of its agents.`,
    )
  }

  async #worker(worker: CutWorker): Promise<Copied> {
    const { id, historyLength, due, asks } = worker
    const ids = this.#ids
    const copyId = ids.worker(id)
    const record = forkedRecord(worker.fields, ids, this.#note)
    await this.#add(`fork:${ids.sessionId}:${copyId}`, 'hash', flat(record.fields))
    if (record.permissions !== null) this.#permissions.add(record.permissions)
    const entries = await this.#history(id, historyLength)
    if (entries < historyLength) throw prunedError(this.#note.from)
    for (const [part, texts] of Object.entries(worker.parts)) await this.#part(id, part, texts)
    for (const [ask, fields] of asks) await this.#ask(id, ask, fields)
    for (const [name, time] of Object.entries(due)) {
      const [, ask] = /^ask:(.+)$/.exec(name) ?? []
      this.#due.push(time, `${copyId}:${ask === undefined ? name : `ask:${ids.ask(id, ask)}`}`)
    }
    await this.#pieces(
      `w:${copyId}:asks`,
      'set',
      asks.map(([ask]) => ids.ask(id, ask)),
    )
    return { id: copyId, queued: record.queued }
  }

  async #part(worker: string, part: string, texts: readonly string[]): Promise<void> {
    const ids = this.#ids
    const key = `w:${ids.worker(worker)}${part}`
    if (part === ':timers') return this.#pieces(key, 'hash', texts)
    if (part === ':state' || part === ':failure') return this.#pieces(key, 'string', texts)
    if (part === ':mail:large')
      return this.#pieces(
        key,
        'hash',
        texts.map((text, index) => (index % 2 === 0 ? text : forkedMail(text, worker, ids))),
      )
    const change = (text: string) => (part === ':waiting' ? ids.worker(text) : forkedMail(text, worker, ids))
    return this.#pieces(key, 'list', texts.map(change))
  }

  async #ask(worker: string, ask: string, fields: RecordFields): Promise<void> {
    const [id, workerId] = [this.#ids.ask(worker, ask), this.#ids.worker(worker)]
    const { body = '', at = '0' } = fields
    const copy = { ...fields, session: this.#ids.sessionId, worker: workerId, body: forkedBody(body, workerId) }
    await this.#pieces(`ask:${id}`, 'hash', flat(copy))
    this.#open.push(at, id)
    this.#asks.push(at, id)
    if (this.#tellsEndpoints) this.#due.push('0', noticeOfAsk(workerId, id))
  }

  async #session(workers: readonly Copied[]): Promise<void> {
    const base = `s:${this.#ids.sessionId}`
    const element = (text: string) => text.replace(/^[^:]+/, (id) => this.#ids.worker(id))
    await this.#pieces(
      `${base}:workers`,
      'list',
      workers.slice(1).map(({ id }) => id),
    )
    const { cancelled, reasons, results } = this.#cut
    await this.#pieces(`${base}:cancelled`, 'set', cancelled.map(element))
    const named = Object.entries(reasons).map(([name, reason]) => [element(name), reason])
    await this.#pieces(`${base}:reasons`, 'hash', named.flat())
    await this.#pieces(`${base}:results`, 'hash', flat(results))
    await this.#pieces(`${base}:asks`, 'zset', this.#asks)
    const known = Object.entries(this.#cut.originals).flatMap(([id, own]) => [id, this.#ids.worker(own)])
    const permissions = [...this.#permissions].flatMap((text) => [permissionsName(text).slice(1), text])
    await this.#pieces(`${base}:permissions`, 'hash', permissions)
    await this.#pieces(`${base}:originals`, 'hash', [...known, ...this.#ids.all.flat()])
  }

  /** Blobs keep their names in the copy: these follow from what they hold. Nothing in the copy names a blob that was kept after the cut. */
  async #blobs(blobs: readonly BlobRef[]): Promise<void> {
    const base = `s:${this.#ids.sessionId}:blob`
    const index: string[] = []
    let sum = 0
    for (const ref of blobs) {
      await this.#blob(`${base}:${ref.id}`, ref)
      index.push(ref.id, encodeBlobLine(ref))
      sum += ref.bytes
    }
    if (index.length > 0) await this.#pieces(`${base}s`, 'hash', [...index, 'bytes', String(sum)])
  }

  async #blob(key: string, { id, bytes }: BlobRef): Promise<void> {
    if (bytes === 0) return this.#pieces(key, 'string', [''])
    for (let offset = 0; offset < bytes; offset += blobPieceBytes) {
      const length = Math.min(blobPieceBytes, bytes - offset)
      const piece = await this.#store.blobs.read(this.#note.from, id, { offset, length })
      if (piece?.length !== length) throw prunedError(this.#note.from)
      await this.#add(key, 'bytes', [piece], offset)
    }
  }

  /** A history, read in pages of about the bytes that one script may write. Returns its length. */
  async #history(worker: string, length: number): Promise<number> {
    const key = `w:${this.#ids.worker(worker)}:log`
    let [from, most] = [0, elementsFirst]
    while (from < length) {
      const page = await this.#store.entries(worker, from, Math.min(most, length - from))
      if (page.length === 0) break
      await this.#pieces(
        key,
        'list',
        page.map((json) => forkedEntry(json, worker, this.#ids)),
        from,
      )
      from += page.length
      const average = page.reduce((sum, text) => sum + text.length, 0) / page.length
      most = Math.max(1, Math.min(elementsMost, Math.floor(bytesMost / Math.max(1, average))))
    }
    return from
  }

  /** Names and values stay together: pieces have an even number of texts. */
  async #pieces(key: string, sort: Part['sort'], texts: readonly string[], at = 0): Promise<void> {
    for (let from = 0; from < texts.length; from += elementsMost)
      await this.#add(key, sort, texts.slice(from, from + elementsMost), at + from)
  }

  async #add(key: string, sort: Part['sort'], texts: Part['texts'], from = 0): Promise<void> {
    if (texts.length === 0) return
    this.#waiting.push({ key, sort, from, texts })
    const written = this.#sizes.get(key) ?? { sort, size: 0 }
    written.size += sizeOf(sort, texts)
    this.#sizes.set(key, written)
    for (const text of texts) this.#bytes += text.length
    if (this.#bytes > bytesMost || this.#waiting.length > elementsMost) await this.#flush()
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return
    const parts = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    await this.#store.prepare(this.#ids.sessionId, parts)
  }
}

/** As Redis counts it. */
function sizeOf(sort: Part['sort'], texts: Part['texts']): number {
  if (sort === 'list' || sort === 'set') return texts.length
  if (sort === 'hash' || sort === 'zset') return texts.length / 2
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

function idsOf({ workers }: Cut, from: string, copyId: string): ForkedIds {
  const ids = new ForkedIds(from, copyId)
  const records = new Map(workers.map(({ id, fields }) => [id, decodeRecord(id, fields)]))
  for (const { id, parentId, parentRun, call } of records.values()) {
    if (parentId === null) continue
    const parentRuns = records.get(parentId)?.run ?? 1
    if (!ids.add({ id, parentId, parentRun, call: call ?? 0, parentRuns }))
      throw storeError(
        new StoredDamage(`the record of worker ${id} does not say which call of which worker made it`),
        `forking session ${from}`,
      )
  }
  return ids
}

/** The question of an approval shows a hash that the worker's id goes into, so the copy needs a hash of its own. */
function forkedBody(text: string, workerId: string): string {
  const body = decodeAskBody(text)
  const details = body && rehashed(body.details, workerId)
  return body && details ? encodeAskBody({ ...body, details }) : text
}

function flat(fields: RecordFields): string[] {
  return Object.entries(fields).flat()
}

function prunedError(session: string): NotFoundError {
  return new NotFoundError('session_not_found', `session ${session} was pruned while it was forked.`)
}
