/**
 * Duty: make and check ids, and read the partition that each carries.
 * ID-1 An id is a UUID whose last 12 bits (three hex digits) are its partition. So the keys of any id follow from the id alone.
 * ID-2 Ids of sessions have version 7 and grow within a process. Ids of workers have version 8. The id of a root differs from that of its session
 *      only in the version. The id of a child is a digest of parent, run and call, so that a repeated spawn gives the same child.
 * ID-3 Every id is checked before it becomes part of a key.
 * ID-4 The ids of the jobs that one client creates have seven hex digits in common, the creator, in front of the partition. So the script that ends a
 *      job finds the channel on which its client listens, and the client listens on one channel for all of its jobs.
 */
import { hash } from 'node:crypto'
import { v7 } from 'uuid'
import { preview } from './check/preview.ts'
import { InputError } from './errors.ts'

/** An id has 12 bits for its partition. */
export const partitionsMax = 4_096

/** The length of an id in characters. */
export const idLength = 36

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** The rule of `isKind` in words, for errors. */
export const kindRule =
  'use up to 64 letters, digits, "_" and "-", a lower-case letter or a digit first, in folders joined by "/"'
const kindPattern = /^[a-z0-9][A-Za-z0-9_-]*(?:\/[a-z0-9][A-Za-z0-9_-]*)*$/
const namespacePattern = /^[A-Za-z0-9_-]{1,64}$/

/** `creator`: see ID-4. Without one the digits are random: nobody listens there. */
export function newId(partition: number, creator?: string): string {
  const id = v7()
  return withPartition(creator === undefined ? id : id.slice(0, creatorFrom) + creator + id.slice(creatorTo), partition)
}

/** Behind the time and the number by which ids of one process differ. */
const [creatorFrom, creatorTo] = [26, 33]

/** What stands for a client in the ids of its jobs. */
export function newCreator(): string {
  return newId(0).slice(creatorFrom, creatorTo)
}

/** The client that created a job, by the id of its session. For any other session it returns digits that no client has. */
export function creatorOf(sessionId: string): string {
  return sessionId.slice(creatorFrom, creatorTo)
}

/** The id of the root worker of a session, so that neither id is stored with the other. Given the id of a worker, it returns an id that nobody has. */
export function rootIdOf(sessionId: string): string {
  return `${sessionId.slice(0, 14)}${isWorkerId(sessionId) ? 7 : 8}${sessionId.slice(15)}`
}

/** True for the id of a worker, false for that of a session (ID-2). */
export function isWorkerId(id: string): boolean {
  return id[14] === '8'
}

/** The id of the session of a root worker: the reverse of `rootIdOf`. */
export function sessionIdOfRoot(rootId: string): string {
  return `${rootId.slice(0, 14)}7${rootId.slice(15)}`
}

/** The id of the child that call number `call` of this run spawns. The same arguments give the same id. */
export function childId(parentId: string, run: number, call: number): string {
  return digestId(`${parentId}:${run}:${call}`, partitionOf(parentId))
}

/** The ids of the children that these calls of a run spawned. */
export function childIds(parentId: string, run: number, calls: readonly number[]): string[] {
  return calls.map((call) => childId(parentId, run, call))
}

/** The id of an ask: the `number`th that this run makes while it receives this message. The same arguments give the same id. */
export function askId(workerId: string, run: number, messageId: string, number: number): string {
  return digestId(`${workerId}:${run}:${messageId}:ask:${number}`, partitionOf(workerId))
}

/** The id that an ask of a worker has in a copy of its session. `workerId`: the id of the worker in the copy. The same arguments give the same id. */
export function forkedAskId(workerId: string, ask: string): string {
  return digestId(`${workerId}:fork:${ask}`, partitionOf(workerId))
}

/** The id of the endpoint that is added under this idempotency key. The same key gives the same id. */
export function keyedWebhookId(key: string): string {
  return digestId(`${key}:webhook`, 0)
}

/** A UUID of version 8 that follows from the text. */
function digestId(text: string, partition: number): string {
  const hex = hash('sha256', text)
  const variant = '89ab'[Number.parseInt(hex[16] as string, 16) % 4]
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  return withPartition(id, partition)
}

export function partitionOf(id: string): number {
  return Number.parseInt(id.slice(-3), 16)
}

/** The partition of a session that is created under this idempotency key. A repeated call finds the first session there. */
export function partitionOfKey(key: string, partitions: number): number {
  return Number.parseInt(hash('sha256', key).slice(0, 8), 16) % partitions
}

/** When the id of a session was made, in ms since 1970, by the clock of the process that made it. */
export function timeOf(sessionId: string): number {
  return Number.parseInt(sessionId.slice(0, 8) + sessionId.slice(9, 13), 16)
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && uuidPattern.test(value)
}

/** The id in a text that somebody pasted, perhaps with blanks around it or in capitals. */
export function pastedId(text: string): string {
  return text.trim().toLowerCase()
}

/** Examples for errors: the ids of one session and of its root. */
const sessionIdExample = '0199f3a2-5c1e-7b04-9d68-3e0f7a21c000'
const idExamples = {
  session: sessionIdExample,
  worker: rootIdOf(sessionIdExample),
  ask: rootIdOf(sessionIdExample),
  webhook: sessionIdExample,
}

/** Returns the id in lower case. Throws an InputError with an example if the value is no id. */
export function parseId(value: unknown, what: 'worker' | 'session' | 'ask' | 'webhook'): string {
  const id = typeof value === 'string' ? pastedId(value) : value
  if (!isId(id))
    throw new InputError(
      `${preview(value)} is not ${what === 'ask' ? 'an' : 'a'} ${what} id: one is like ${idExamples[what]}, and \`troupe ${what} list\` prints them.`,
    )
  return id
}

export function isKind(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 64 && kindPattern.test(value)
}

export function parseKind(value: unknown): string {
  if (!isKind(value)) {
    throw new InputError(`${preview(value)} is not a worker kind: ${kindRule}.`)
  }
  return value
}

/** The pool of kinds that name none. */
export const defaultPool = 'default'
/**
 * The pool of workers that no live node can run: no node ever hosted their kind, or a part of them cannot be read. No kind may name it.
 */
export const unhostedPool = 'unhosted'

export function isPool(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z0-9][a-z0-9_-]{0,31}$/.test(value)
}

export function isNamespace(value: unknown): value is string {
  return typeof value === 'string' && namespacePattern.test(value)
}

/** Whose idempotency keys these are: those that callers choose, or those that follow from the ids of submitted jobs. */
export type KeyOwner = 'caller' | 'job'

/**
 * A digest of an idempotency key, which is safe as a part of a Redis key whatever the text is. Digests for messages begin with another letter and are
 * longer than those for sessions, and so are those of jobs and of other acts, so that no key of one sort meets a key of another.
 */
export function digestKey(key: string, of: 'session' | 'message' | 'act', owner: KeyOwner = 'caller'): string {
  const sort = `${owner === 'job' ? 'j' : ''}${{ session: '', message: 'm', act: 'a' }[of]}`
  return sort + hash('sha256', bytesOf(key), 'base64url').slice(0, 32)
}

/** A digest of a request under an idempotency key, to tell it from another request under the same key. */
export function digestAsked(asked: string): string {
  return hash('sha256', asked, 'base64url').slice(0, 22)
}

function withPartition(id: string, partition: number): string {
  return id.slice(0, -3) + partition.toString(16).padStart(3, '0')
}

// In UTF-8 all lone halves of surrogate pairs look the same, so two different texts that were cut within an emoji would have one digest.
function bytesOf(key: string): string | Buffer {
  return key.isWellFormed() ? key : Buffer.from(key, 'utf16le')
}
