/** `troupe run <kind> [input]`: a session in the foreground: submits it, follows it, and prints its result. */
import type { Command } from 'commander'
import type { Roster } from '../../client/activity.ts'
import type { Session } from '../../client/session.ts'
import { TransientError } from '../../core/errors.ts'
import type { RawEvent } from '../../core/event/event.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { parseKind } from '../../core/ids.ts'
import { exitCodes } from '../exit-code.ts'
import { configOf, connectTo } from '../host/connection.ts'
import { KindHost } from '../host/kind-host.ts'
import { queuedAmong, UnhostedNotice } from '../host/unhosted-notice.ts'
import { addInputOptions, type InputFlags, readInput } from '../input.ts'
import {
  addConnectionOptions,
  addExamples,
  addModelOption,
  addNodeOptions,
  addRawOption,
  addSessionOptions,
  type NodeFlags,
  type RawFlag,
  type SessionFlags,
  sessionRequest,
} from '../options.ts'
import { commandEndMsMax, Interrupt } from '../terminal/interrupt.ts'
import { LiveText } from '../terminal/live-text.ts'
import { printJson, safe } from '../terminal/output.ts'
import { onSuddenEnd } from '../terminal/sudden-end.ts'
import { EventLines } from '../view/lines/event-lines.ts'
import { type CommitListener, followToEnd } from './follow.ts'
import { printResult } from './print-result.ts'

interface RunFlags extends NodeFlags, InputFlags, SessionFlags, RawFlag {}

const details = `
If no live node hosts the kind and the folder of worker files has it, this process
runs a node until the result is there.
On a terminal the words of an agent appear while its model speaks; with --json
they are events like all others.
Ctrl+C cancels the session; a second one ends this process at once. If the
terminal is lost, the session goes on.`

export function addRunCommand(program: Command): void {
  const command = program
    .command('run')
    .description('run a worker and print its result')
    .argument('<kind>', 'kind of the worker, as `troupe kinds` lists them')
    .argument('[input]', 'its first message; - reads stdin')
  addInputOptions(command)
  addConnectionOptions(addModelOption(addNodeOptions(addSessionOptions(addRawOption(command)))))
  addExamples(command, [
    ['troupe run assistant "What is in these notes?" --model openai/gpt-5', 'an agent, with the model it thinks with'],
    ['troupe run surveyor \'{"folder":"docs"}\'', 'JSON'],
    ['git log -5 | troupe run summariser -', 'text from stdin'],
    ['troupe run counter 5 --as json --json', 'a number; events and result as JSON lines'],
  ])
  command.addHelpText('after', details)
  command.action(run)
}

async function run(kind: string, argument: string | undefined, flags: RunFlags): Promise<void> {
  parseKind(kind)
  const input = await readInput(argument, flags, process.stdin)
  const config = await configOf(flags)
  using live = new LiveText()
  const tell = (line: string) => live.tell(line)
  onSuddenEnd({ tell })
  using interrupt = new Interrupt((signal) => {
    if (signal !== 'SIGHUP') tell('troupe: interrupted (again to end at once)')
  }, commandEndMsMax)
  await using troupe = await interrupt.orThrow(connectTo(config, 'create'))
  let roster: Roster | undefined
  await using host = new KindHost(kind, troupe, config, { tell, labelOf: (id) => roster?.labelOf(id) })
  const isHere = await interrupt.orThrow(host.start())
  if (!isHere) for (const line of ignoredOptions(kind, flags)) tell(line)
  const session = await troupe.sessions.create(sessionRequest(kind, input, flags))
  onSuddenEnd({ sessionId: session.id, isLasting: true })
  tell(`troupe: session ${session.id}`)
  if (session.warning) tell(`troupe: ${safe(session.warning)}`)
  live.watch(session.rootId)
  using _notice = new UnhostedNotice(troupe, () => queuedAmong(roster, kind), tell)
  const print = flags.json ? printEvents : printLines(live, session.rootId)
  const onCommit: CommitListener = (commit, known) => {
    roster = known
    print(commit, known)
  }
  const onLive = flags.json ? printJson : live.isShown ? (event: RawEvent) => live.note(event) : undefined
  const following = followToEnd(session, interrupt, onCommit, onLive)
  const result = await following.catch((thrown: unknown) => {
    if (thrown instanceof TransientError) tell(`troupe: the session is not lost. ${laterText(session)}`)
    throw thrown
  })
  live.end()
  if (result) printResult(session.id, result, flags)
  else tell(unfinishedText(session, interrupt.isHangUp, isHere))
  process.exitCode = exitCodeOf(interrupt, result)
}

/** A live node runs the kind with its own files and its own model. */
export function ignoredOptions(kind: string, { workers, model }: Pick<RunFlags, 'workers' | 'model'>): string[] {
  const lines = []
  if (workers !== undefined)
    lines.push(`troupe: a live node hosts ${kind} and runs it; --workers ${safe(workers)} is ignored`)
  if (model !== undefined)
    lines.push(`troupe: a live node hosts ${kind} and chooses its model; --model ${safe(model)} is ignored`)
  return lines
}

function laterText(session: Pick<Session, 'id'>): string {
  return `Get its result later with: troupe session result ${session.id} --wait`
}

export function unfinishedText(session: Pick<Session, 'id'>, isHangUp: boolean, isHere: boolean): string {
  if (!isHangUp)
    return `troupe: the session has not ended yet; \`troupe session show ${session.id}\` shows what it waits for`
  const fate = isHere ? 'waits for another node, because the node of this process ends' : 'goes on'
  return `troupe: the terminal is lost, and the session ${fate}. ${laterText(session)}`
}

function exitCodeOf(interrupt: Interrupt, result: RunResult | undefined): number {
  return interrupt.exitCode ?? (result?.status === 'completed' ? exitCodes.ok : exitCodes.failed)
}

function printEvents(commit: readonly RawEvent[]): void {
  for (const event of commit) printJson(event)
}

function printLines(live: LiveText, rootId: string): CommitListener {
  const lines = new EventLines(rootId)
  return (commit, roster) => {
    for (const event of commit) live.note(event)
    for (const line of lines.of(commit, roster)) live.tell(line)
  }
}
