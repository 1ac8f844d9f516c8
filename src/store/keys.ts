/**
 * Duty: every Redis key of troupe is built here; nothing else in TypeScript knows how a key looks. (Scripts build those they
 * cannot be given, from the tag of KEYS[1], and list them in their headers.)
 * All keys of a partition share one hash tag, so that every script is atomic in a Redis Cluster too.
 * docs/reference/redis-keys.md is generated from the comments: type; what it holds; when it goes.
 */
import { creatorOf, rootIdOf } from '../core/ids.ts'

/** The hash tag of a partition: `{<namespace>.<partition>}`. */
export function tagOf(namespace: string, partition: number): string {
  return `{${namespace}.${partition}}`
}

/** The keys of one partition. */
export function partitionKeys(tag: string) {
  return {
    tag,
    /** hash; number of partitions, which numbers there were before and until when, schema, retention, time of the last sweep, when Redis's clock was last set back and by how much, whether events were ever trimmed, how far pruning and packing are, how the last recorded audit ended, the version of the register of kinds, which a raise of the number of partitions changes too; for ever. */
    meta: `${tag}:meta`,
    /** zset; session id by creation time in ms; until pruned. */
    sessions: `${tag}:sessions`,
    /** zset; each session: one that has ended by the time of its end in ms, one that goes on by the time of its creation less 4e15, so before all others; until pruned. */
    ends: `${tag}:ends`,
    /** set; sessions with workers that a cancel or an ended run has not finished yet; until finished. */
    cancelling: `${tag}:cancelling`,
    /** zset; running worker by the end of its lease in ms; until the turn ends. */
    leases: `${tag}:leases`,
    /** zset; `<worker>:<timer>`, `<worker>:ask:<ask>` or `<worker>:retry` by the time it is due in ms; `<root>:resume` while a resume has workers left to bring back; and notices: `<root>:notify`, `<root>:notify:end`, `<worker>:notify:<ask or dead letter>`; until fired, its run ends or the notice is told. */
    timers: `${tag}:timers`,
    /** zset; open ask by the time in ms when it was made; until it ends. */
    asks: `${tag}:asks`,
    /** hash; node id to `<written at> <slots> <pools> <kinds> <facts json>`; until the node leaves or is forgotten, written when it changes. */
    nodes: `${tag}:nodes`,
    /** hash; node id to the time in ms when it was last seen; until the node leaves or is forgotten. */
    seen: `${tag}:seen`,
    /** set; pools that ever had a node or a queued worker, except `default` and `unhosted`, which need not be in it; until it has neither nodes, kinds nor work for long. */
    pools: `${tag}:pools`,
    /** hash; kind to `<pool> <json of its description>`, rewritten by nodes; until no node has hosted it for long and no work of it waits. */
    kinds: `${tag}:kinds`,
    /** stream; what happened, an entry of each script that reports something: `<session>` or `<session> <worker>`, and a JSON array of notes, for each commit; trimmed to about the last 100 000. */
    events: `${tag}:events`,
    /** stream; dead letters with evidence, trimmed. */
    dead: `${tag}:dead`,
    /** zset; `<dead letter> <position in the inbox> <wake-ups>` of each redriven one, or `<dead letter> dismissed`, by its time; goes with its letter. */
    redriven: `${tag}:redriven`,
    /** hash; sessions and workers that were pruned, and what their lanes had accepted (`inbox`, `results`, `signals`); for ever. */
    retired: `${tag}:retired`,
    /** pub/sub channel; ids of sessions that were just cancelled or paused, `*` when all were paused or resumed; messages may be lost. */
    cancelNotices: `${tag}:cancel-notices`,
    /** pub/sub channel; ids of wake-ups that were just put, for this node, which may have a slot free; messages may be lost. */
    wake: (pool: string, node: string) => `${tag}:wake:${pool}:${node}`,
    /** pub/sub channel; `<session> new` from a follower that begins to listen, then `<session>` every 2 s: nodes tell what they do only while somebody follows; messages may be lost. */
    followers: `${tag}:followers`,
    /** string; the kinds of a node in one of its pools, where they are many: its claims name the list by its digest; a day after it was last sent. */
    kindList: (digest: string) => `${tag}:kind-lists:${digest}`,
    /** hash; slot to `<nonce> <worker> <purpose>` of its last claim, `<slot>+` to the nonce of the children that it went on with; goes with the node. */
    claims: (node: string) => `${tag}:claims:${node}`,
    /** zset; queued worker by its place, a virtual time in µs; until claimed. */
    run: (pool: string) => `${tag}:run:${pool}`,
    /** set; kinds that have a queue of their own, `T:kind-queues:<pool>:<kind>`, because a node met workers that it cannot run; while it has some. */
    kindQueues: (pool: string) => `${tag}:kind-queues:${pool}`,
    /** zset; queued worker of one kind by its place; until claimed. */
    kindQueue: (pool: string, kind: string) => `${tag}:kind-queues:${pool}:${kind}`,
    /** zset; wake-up by the time it is stale in ms; until answered or stale. */
    wakeups: (pool: string) => `${tag}:wakeups:${pool}`,
    /** zset; wake-up whose turn is long, by the end of its lease in ms; until the turn ends. */
    busy: (pool: string) => `${tag}:busy:${pool}`,
    /** string; slots of all live nodes of the pool; rewritten by each sweep. */
    slots: (pool: string) => `${tag}:slots:${pool}`,
    /** zset; the virtual time of each pool, in µs: the place of the worker that was taken last; for ever. */
    clocks: `${tag}:clocks`,
    /** string; workers a slot that is awake may be expected to take in a row; some seconds. */
    workersPerWake: (pool: string) => `${tag}:per-wake:${pool}`,
    /** hash; record of a worker of a copy that is being made; until the copy is there, an hour at most. */
    fork: (session: string, worker: string) => `${tag}:fork:${session}:${worker}`,
    /** string; the answer given under an idempotency key; 24 h, or 10 min for keys the client made. */
    idem: (digest: string) => `${tag}:idem:${digest}`,
    /** string; never written: a command that only finds out what a user may do names it, and in a cluster each call of a script names it too; never exists. */
    rights: `${tag}:rights`,
    /** Prefix of BullMQ's own keys; our scripts never touch them. */
    queuePrefix: `${tag}:q`,
  }
}

/** Hash: node id to `<slots> <pools> <digest of its kinds>`, what every sweep needs of its line in `nodes`, which may be long. It goes with the line. */
export function nodeSlotsKey(tag: string): string {
  return `${tag}:node-slots`
}

/** Zset: dead letter that nobody has redriven or dismissed by its time, until somebody does, or until it is trimmed. */
export function openLettersKey(tag: string): string {
  return `${tag}:open-letters`
}

/** What a partition sends to others, and has from them. */
export function outboxKeys(tag: string) {
  return {
    /** list; mails for workers of another partition, in their order: `<number>`, sender, recipient, when, mail, with tabs between; until that partition has them. */
    out: (partition: string) => `${tag}:out:${partition}`,
    /** hash; partition to the number of the last mail that went into its outbox; for ever. */
    sent: `${tag}:sent`,
    /** hash; partition to the number of the last mail that came from its outbox; and `<partition> refused` to numbers of the last mails that their recipients did not take, each with the reason; for ever. */
    received: `${tag}:received`,
  }
}

/** The endpoints of webhooks. */
export function endpointKeys(tag: string) {
  return {
    /** hash; endpoint to its record as JSON, with its secrets: of the whole namespace, in partition 0 alone; until removed. */
    endpoints: `${tag}:endpoints`,
    /** zset; each enabled endpoint by the time in ms since which it is told of this partition; until disabled or removed. */
    since: `${tag}:endpoints:since`,
  }
}

/** What an access token of the API gives its sessions to spend, if its ceiling bounds that: of the whole namespace, in partition 0 alone. */
export function allowanceKeys(tag: string, token: string) {
  const given = `${tag}:given:${token}`
  return {
    /** hash; of the name of a token, a minute, counted from 1970, to `<sessions> <model calls> <tokens> <tool calls>` that were given in it; until an hour after the last of them. */
    given,
    /** string; nothing: a request by its digest, which is counted there; 24 h, or a minute for one without an idempotency key. */
    request: (digest: string) => `${given}:${digest}`,
  }
}

export type PartitionKeys = ReturnType<typeof partitionKeys>

export interface Place {
  readonly partition: number
  readonly keys: PartitionKeys
  /** The prefix of BullMQ's keys. */
  readonly prefix: string
}

/** The partitions of a namespace, in their order. */
export function placesOf(namespace: string, partitions: number): Place[] {
  return Array.from({ length: partitions }, (_, partition) => {
    const keys = partitionKeys(tagOf(namespace, partition))
    return { partition, keys, prefix: keys.queuePrefix }
  })
}

/** A key with the same tag that never exists. */
export function keyThatIsNever(key: string): string {
  return partitionKeys(key.slice(0, key.indexOf('}') + 1)).rights
}

/** Matches the keys of all workers of all partitions of the namespace that this tag is of. */
export function workersPattern(tag: string): string {
  return `${tag.slice(0, tag.lastIndexOf('.'))}.*}:w:*`
}

/** The worker whose record this key is; null if the key is no record. */
export function recordOf(key: string): { readonly partition: number; readonly id: string } | null {
  const [, partition, id] = /\.(\d+)\}:w:([^:]+)$/.exec(key) ?? []
  return partition === undefined || id === undefined ? null : { partition: Number(partition), id }
}

/** The keys of one worker. The record and the log stay until the session is pruned; the others exist only when needed. */
export function workerKeys(tag: string, id: string) {
  const record = `${tag}:w:${id}`
  return {
    /** hash; the record: each value has at most 64 bytes, except the permissions of a run, last words and the reason of a cancel, so that the hash stays small. */
    record,
    /** list; the append-only history, one JSON entry each; of one that has rested for long, packs of entries ([0042](../decisions/0042-packed-histories.md)). */
    log: `${record}:log`,
    /** string; handler state as JSON, when it is over 64 bytes. */
    state: `${record}:state`,
    /** string; the last failure as JSON; cleared when a run starts. */
    failure: `${record}:failure`,
    /** hash; open timer to its value as JSON; until fired or the run ends. */
    timers: `${record}:timers`,
    /** set; open asks of its run; until they end. */
    asks: `${record}:asks`,
    /** list; children that wait to start, in the order of their spawns; until they start or the run ends. */
    waiting: `${record}:waiting`,
    /** list; mailbox lane: timers and answers; until consumed. */
    signals: `${record}:mail:signals`,
    /** list; mailbox lane: results of children; until consumed or the run ends. */
    results: `${record}:mail:results`,
    /** hash; call to the result of its child, of results over 2 048 bytes, whose heads stand for them in the lane; as the lane. */
    large: `${record}:mail:large`,
    /** list; mailbox lane: input; until consumed. */
    inbox: `${record}:mail:inbox`,
  }
}

/** All gates of a partition. */
export const gatesKey = (tag: string) => `${tag}:gates`

/** The keys of one gate of a kind; they exist only while somebody is there. */
export function gateKeys(tag: string, name: string) {
  const gate = `${tag}:gate:${name}`
  return {
    /** zset; each gate, `<kind>:<runs or rate>:<digest of a key, or all>`, by the time in ms when a sweep looks at it, and each guest, by the time when partitions tell each other of it next; while somebody is there. */
    all: gatesKey(tag),
    /** hash; `most`, `perMs` of a rate, and `key` as text; of a kind with both limits also `otherMost` and `otherPerMs`, the numbers of the other gate; while somebody is there. */
    gate,
    /** zset; workers whose runs are in progress, by the time in ms when they began; until they end. */
    in: `${gate}:in`,
    /** zset; workers that wait, by the time in ms when they came, or just behind the last one; until they begin. */
    waiting: `${gate}:waiting`,
    /** list; of a rate: when the last runs began, in ms, as many as may begin within its time; while the last one is within it. */
    begun: `${gate}:begun`,
  }
}

/** The record of a session's root, which says how the session stands. */
export function rootKey(tag: string, sessionId: string): string {
  return `${tag}:w:${rootIdOf(sessionId)}`
}

/** The pub/sub channels of one session. `creator`: the client that created it. */
export function sessionChannels(tag: string, session: string, creator: string = creatorOf(session)) {
  return {
    /** pub/sub channel, sharded from Redis 7.0 on; what a script reports of the session: the id of its entry in `T:events`, and for each commit of it three lines: its number there, the worker if it is not the root, the notes; messages may be lost. */
    events: `${tag}:events:${session}`,
    /** pub/sub channel, sharded from Redis 7.0 on; of these messages what may tell that a run of the root has ended, for those who wait for a result, with the session in place of the worker; messages may be lost. */
    ends: `${tag}:events:${session}:ends`,
    /** pub/sub channel, sharded from Redis 7.0 on; the same for the client that created the session: of all its jobs; messages may be lost. */
    created: `${tag}:events:${creator}:created`,
    /** pub/sub channel; `{ worker, notes }` as workers change their state, text streams and tools progress: for followers that listen now, never stored. */
    live: `${tag}:live:${session}`,
  }
}

/** hash; an ask: what is asked, by which run, since and until when, and how it ended; until its session is pruned. */
export function askKey(tag: string, id: string): string {
  return `${tag}:ask:${id}`
}

/** zset; `kind <kind>` or `pool <pool>` that no node hosts any more, by the time in ms when that was noticed; until it is hosted, or forgotten. */
export function formerKey(tag: string): string {
  return `${tag}:former`
}

/** hash; of a day, counted from 1970: what model calls used and cost, by hour, kind and model; 400 days. */
export function usageKey(tag: string, day: number): string {
  return `${tag}:usage:${day}`
}

/** string; the bytes of a blob of a session (core/blob.ts); until its session is pruned. */
export function blobKey(tag: string, sessionId: string, id: string): string {
  return `${tag}:s:${sessionId}:blob:${id}`
}

/** string; the bytes of a blob that is about to be kept: by their own `SET`, since a script would hold Redis while it copies them; ten minutes. */
export function sentBlobKey(tag: string, sessionId: string, id: string): string {
  return `${blobKey(tag, sessionId, id)}:sent`
}

/** What a session has beside the record of its root. Each exists only when needed; until pruned. */
export function sessionKeys(tag: string, id: string) {
  const session = `${tag}:s:${id}`
  return {
    /** hash; run of the root to `<status> <place of the result in the history>`, of each that did not end the session; until pruned. */
    runResults: `${session}:results`,
    /** list; ids of all workers but the root, in the order they were spawned. */
    workers: `${session}:workers`,
    /** zset; each ask of its workers by the time in ms when it was made. */
    asks: `${session}:asks`,
    /** set; `<worker>:<run>`, or `<worker>:*` for good; until every descendant has ended. */
    cancelled: `${session}:cancelled`,
    /** hash; element of `cancelled` to the reason that a caller gave; goes with `cancelled`. */
    reasons: `${session}:reasons`,
    /** set; workers that a cancel has still to end; until they have ended. */
    ending: `${session}:ending`,
    /** zset; workers of a paused session that claims found in a run queue, by their score there; until it is resumed. */
    held: `${session}:held`,
    /** set; `<worker> <token>` of turns that begin nothing more while their session is paused; until it is resumed. */
    quiet: `${session}:quiet`,
    /** hash; of a copy, ids that its workers had in the session that it is a copy of to their own; until pruned. */
    originals: `${session}:originals`,
    /** hash; permissions of over 64 bytes by their SHA-1, for the records of its workers, which name them by it; until pruned. */
    permissions: `${session}:permissions`,
    /** hash; blob to `<bytes> <media type>`, and `bytes` to how many all of them have; until pruned. */
    blobs: `${session}:blobs`,
  }
}
