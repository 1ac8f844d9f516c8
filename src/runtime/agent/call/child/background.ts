/**
 * Duty: tasks in the background: detached children of an agent whose kind has `background`. Find what became of them, tell their model of those that
 * have ended, and keep two of the same name from running at once.
 * BACKGROUND-1 What became of a child is read from the end of its history. Nothing is stored for it, and nobody else pays for it.
 * BACKGROUND-2 An end is reported once. The note that tells it is recorded before the model call that reads it (THINK-1), and names the children.
 */
import { InputError, toRuntimeError } from '../../../../core/errors.ts'
import type { Json, ToolOutput } from '../../../../core/history/chat/chat-message.ts'
import { decodeEntry, type Entry, type SpawnNote } from '../../../../core/history/entry.ts'
import { orderedEntries } from '../../../../core/history/run/between-runs.ts'
import type { TurnStore } from '../../../../core/ports/ports.ts'
import type { ResultMessage } from '../../../../core/worker/message/message.ts'
import type { AgentTurn } from '../../agent-turn.ts'
import type { Journal } from '../../journal.ts'
import { childrenOutput } from './children-output.ts'
import type { SpawnTask } from './delegation.ts'

/** How many entries of the end of a history are read first. */
const tailSize = 20
/** Entries that may stand behind the end of a run: what somebody asked of the child since, or changed of its prompts. */
const betweenRuns: ReadonlySet<Entry['type']> = new Set([...orderedEntries, 'redone', 'undone'])
/** How many untold tasks are looked at before one model call, in turn: those that run for long must not hide others. */
const lookedAtMost = 50

type Ended = Pick<ResultMessage, 'status' | 'value' | 'failure'>

/** Whether there may be an end to tell; this reads nothing. */
export function mayTellEnds({ kind, journal }: AgentTurn): boolean {
  return kind.definition.background === true && journal.container.background.untold.length > 0
}

/** Tells the model of tasks that have ended since. */
export async function tellEnds(agentTurn: AgentTurn): Promise<void> {
  const { journal, turn } = agentTurn
  const { untold } = journal.container.background
  const from = (journal.tally.modelCalls * lookedAtMost) % untold.length
  const tasks = [...untold.slice(from), ...untold.slice(0, from)].slice(0, lookedAtMost)
  let ends: Map<string, Ended>
  try {
    ends = await endsOf(journal, tasks)
  } catch (thrown) {
    // An end that cannot be read now is reported with a later model call.
    journal.log.warn('tasks in the background could not be looked at', { error: toRuntimeError(thrown).message })
    return
  }
  if (agentTurn.isOver) return
  const ended = tasks.filter(({ id }) => ends.has(id))
  if (ended.length === 0) return
  const text = `(Tasks that you started in the background have ended:\n${JSON.stringify(outputOf(ended, ends, turn.host.policy.toolOutputBytesMax))})`
  const content = [{ type: 'text', text }] as const
  journal.add([journal.entry('user', { id: journal.nextId(), nudge: true, ended: ended.map(({ id }) => id), content })])
}

/** The text for a model that asks for its tasks. */
export async function listTasks(journal: Journal): Promise<ToolOutput> {
  const tasks = journal.container.background.all
  const ends = await endsOf(journal, tasks)
  return { type: 'json', value: outputOf(tasks, ends, journal.turn.host.policy.toolOutputBytesMax) }
}

/** Throws an InputError, which becomes the result that the model sees, if a task has the name of one that runs. */
export async function checkTaskNames(journal: Journal, tasks: readonly SpawnTask[]): Promise<void> {
  const names = tasks.flatMap(({ detached, name }) => (detached && name !== undefined ? [name] : []))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new InputError(`two tasks in the background have the name ${twice}: rename one of them.`)
  const same = journal.container.background.all.filter(({ name }) => names.includes(name))
  const ends = await endsOf(journal, same)
  const runs = same.find(({ id }) => !ends.has(id))
  if (runs === undefined) return
  throw new InputError(
    `the task ${runs.name} still runs in the background (worker ${runs.id}): wait until it has ended, or give the new one another name.`,
  )
}

/** How the newest run of each child ended, by the id of the child. A child that works or waits is missing. */
async function endsOf({ turn }: Journal, tasks: readonly SpawnNote[]): Promise<Map<string, Ended>> {
  const ends = await Promise.all(tasks.map(async ({ id }) => [id, await endOf(id, turn.host.store)] as const))
  return new Map(ends.flatMap(([id, end]) => (end === null ? [] : [[id, end] as const])))
}

/** Null for a child that works or waits. Where nothing of a run stands at the end of its history, more of it is read. */
async function endOf(id: string, store: Pick<TurnStore, 'readHistory'>): Promise<Ended | null> {
  for (let size = tailSize; ; size *= 5) {
    const tail = (await store.readHistory(id, -size)).map(decodeEntry)
    const last = tail.findLast((entry) => !isBetweenRuns(entry))
    if (last !== undefined) return endIn(last)
    if (tail.length < size) return null
  }
}

function isBetweenRuns(entry: Entry): boolean {
  return betweenRuns.has(entry.type) ? !(entry.type === 'ordered' && entry.order.do === 'run') : 'pushed' in entry
}

function endIn(entry: Entry): Ended | null {
  switch (entry.type) {
    case 'completed':
      return { status: 'completed', value: entry.value, failure: null }
    case 'failed':
      return { status: 'failed', value: null, failure: entry.failure }
    case 'cancelled':
      return { status: 'cancelled', value: null, failure: null as never }
    default:
      return null
  }
}

/** A child that still works is `running`. */
function outputOf(tasks: readonly SpawnNote[], ends: ReadonlyMap<string, Ended>, bytesMax: number): Json {
  const notes = tasks.map(({ id, kind, name }, call) => ({ id, kind, name, call }))
  const results = new Map(
    notes.flatMap(({ id, kind, name, call }) => {
      const end = ends.get(id)
      const child = { kind: 'result', id, from: id, name, workerKind: kind, call } as const
      return end === undefined ? [] : [[call, { ...child, ...end } as ResultMessage] as const]
    }),
  )
  if (notes.length === 0) return []
  const listed = childrenOutput(notes, results, bytesMax).value as { readonly status: string }[]
  return listed.map((one) => (one.status === 'unknown' ? { ...one, status: 'running' } : one)) as Json
}
