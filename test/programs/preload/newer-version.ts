/**
 * Loaded into a program of fault tests (`--import`): makes its node one of a later version. It writes entries of unknown types, unknown fields,
 * blocks and words in known entries, and one more number in what agents have used.
 */
import type { Entry } from '../../../src/core/history/entry.ts'
import type { CommitRequest } from '../../../src/core/ports/ports.ts'
import { Journal } from '../../../src/runtime/agent/journal.ts'
import { RedisTurnStore } from '../../../src/store/turn/turn-store.ts'

const version = 2
const marks = { v: version, mood: 'new' }
const observed = { type: 'observed', by: 'a later version' }

// oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
const { add, entry } = Journal.prototype

/** What agents record: each entry is marked, and a step that does not end the run is followed by one of an unknown type. */
Journal.prototype.add = function (this: Journal, entries, parts, options) {
  const more = parts?.outcome === undefined ? [this.entry(observed.type as Entry['type'], observed)] : []
  add.call(this, [...entries, ...more], parts, options)
}
Journal.prototype.entry = function (this: Journal, type, parts, run) {
  return marked(entry.call(this, type, parts as never, run))
}

function marked(entry: Entry): Entry {
  if (entry.type !== 'assistant') return { ...entry, ...marks }
  const content = [...entry.content, { type: 'citation', source: 'a later version' }]
  return { ...entry, ...marks, finishReason: 'well-said', content } as unknown as Entry
}

// oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
const { commit } = RedisTurnStore.prototype
RedisTurnStore.prototype.commit = function (this: RedisTurnStore, request) {
  return commit.call(this, request.stateJson?.startsWith('a ') ? ofAgent(request) : ofHandler(request))
}

function ofAgent(request: CommitRequest): CommitRequest {
  const words = (request.stateJson ?? '').split(' ')
  // The unknown number stands behind the eight that are known, of which zeros at the end are not written.
  while (words.length < 9) words.push('0')
  return { ...request, stateJson: [...words, '1'].join(' ') }
}

/** The last entry of a step may be its result: what is added comes before the others. */
function ofHandler(request: CommitRequest): CommitRequest {
  const [first] = request.entries
  if (first === undefined) return request
  const { at, run, epoch } = JSON.parse(first) as Record<string, unknown>
  const others = request.entries.map((json) => JSON.stringify({ ...(JSON.parse(json) as object), ...marks }))
  return { ...request, entries: [JSON.stringify({ ...observed, v: version, at, run, epoch }), ...others] }
}
