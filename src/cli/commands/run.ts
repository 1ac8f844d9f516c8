/** `troupe run <kind> [input]`: a session in the foreground: submits it, follows it, and prints its result. */
import type { Command } from 'commander'
import type { Roster } from '../../client/event/activity.ts'
import type { Session } from '../../client/session/session.ts'
import { TransientError } from '../../core/errors.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { parseKind } from '../../core/ids.ts'
import { endWith, exitCodes } from '../exit-code.ts'
import { configOf, connectTo } from '../host/connection.ts'
import { KindHost } from '../host/kind-host.ts'
import { isRemoteLog } from '../host/local-node.ts'
import { queuedAmong, UnhostedNotice } from '../host/unhosted-notice.ts'
import {
  type AttachFlags,
  addAttachOption,
  addInputOptions,
  type InputFlags,
  readInput,
  withAttachments,
} from '../input.ts'
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
import { safe } from '../terminal/output.ts'
import { sessionView } from '../terminal/session-view.ts'
import { StandingPrompt } from '../terminal/standing-prompt.ts'
import { onSuddenEnd } from '../terminal/sudden-end.ts'
import { AskHere } from './ask/ask-here.ts'
import { converse } from './talk/converse.ts'
import { Follower, followToEnd } from './talk/follow.ts'
import { LiveTalk } from './talk/live-talk.ts'
import { printResult, tellRetry } from './talk/print-result.ts'

interface RunFlags extends NodeFlags, InputFlags, AttachFlags, SessionFlags, RawFlag {
  readonly keepOpen?: boolean
}

const details = `
If no live node hosts the kind and the folder of worker files has it, this process
runs a node until the result is there.
On a terminal a tree shows what each worker does, and the words of the first one
while its model speaks. In a pipe there is a line for each step; with --json all
of it is events.
What the session asks a person, you are asked right there: may this tool call run,
and the questions of workers. Without a terminal, a line says which command answers.
Ctrl+C or Esc cancels the run; a second one ends this process at once. If the
terminal is lost, the session goes on.
With --keep-open each line that you type, or each line of stdin, is the next
message. On a terminal you may type while an answer is on its way: the message waits
for its end, /steer <message> or Alt+Enter brings it into the run, and /interrupt
<message> ends what the run does. Esc or Ctrl+C cancels the answer in progress, and you
may go on. Ctrl+D, /quit, or the end of stdin closes the conversation; Ctrl+C while
nothing runs leaves it open. /help shows all commands. A message that begins with a
slash is typed with two.`

export function addRunCommand(program: Command): void {
  const command = program
    .command('run')
    .description('run a worker and print its result')
    .argument('<kind>', 'kind of the worker, as `troupe kinds` lists them')
    .argument('[input]', 'its first message; - reads stdin')
    .option('--keep-open', 'a conversation: asks for the next message after each result')
  addInputOptions(addAttachOption(command))
  addConnectionOptions(addModelOption(addNodeOptions(addSessionOptions(addRawOption(command)))))
  addExamples(command, [
    ['troupe run assistant "What is in these notes?" --model openai/gpt-5', 'an agent, with the model it thinks with'],
    ['troupe run surveyor \'{"folder":"docs"}\'', 'JSON'],
    ['troupe run assistant --keep-open', 'a conversation'],
    ['troupe run assistant "What is this?" --attach plan.png', 'with an image'],
    ['git log -5 | troupe run summariser -', 'text from stdin'],
    ['troupe run counter 5 --as json --json', 'a number; events and result as JSON lines'],
  ])
  command.addHelpText('after', details)
  command.action(run)
}

async function run(kind: string, argument: string | undefined, flags: RunFlags): Promise<void> {
  parseKind(kind)
  const isTalk = flags.keepOpen === true
  const input = await withAttachments(await readInput(argument, flags, process.stdin), flags)
  const config = await configOf(flags)
  using live = isTalk && !flags.json && StandingPrompt.isPossible() ? new LiveTalk() : undefined
  using view = live?.view ?? sessionView(flags.json)
  const tell = (line: string) => view.tell(line)
  onSuddenEnd({ tell })
  using interrupt = new Interrupt((signal) => {
    if (signal !== 'SIGHUP') tell('troupe: interrupted (again to end at once)')
  }, commandEndMsMax)
  await using troupe = await interrupt.orThrow(connectTo(config, 'create'))
  let roster: Roster | undefined
  await using host = new KindHost(kind, troupe, config, { tell, labelOf: (id) => roster?.labelOf(id) })
  const isHere = await interrupt.orThrow(host.start())
  if (!isHere) for (const line of ignoredOptions(kind, flags)) tell(line)
  using _notice = new UnhostedNotice(troupe, () => queuedAmong(roster, kind), tell)
  const begin = async (first: unknown) => {
    const request = { ...sessionRequest(kind, first, flags), keepOpen: isTalk }
    const session = await troupe.sessions.create(request, { follow: true })
    onSuddenEnd({ sessionId: session.id, isLasting: true })
    tell(`troupe: session ${session.id}`)
    if (session.warning) tell(`troupe: ${safe(session.warning)}`)
    view.watch(session.rootId)
    const follower = new Follower(session, view, (event) => flags.json === true || isRemoteLog(event, config.logLevel))
    roster = follower.roster
    return { session, follower }
  }
  if (isTalk) {
    const hasFirst = argument !== undefined || flags.file !== undefined || flags.attach !== undefined
    const talk = { begin, first: hasFirst ? input : undefined, flags, interrupt }
    endWith(await (live ? live.run({ ...talk, troupe }) : converse({ ...talk, view })))
    return
  }
  const { session, follower } = await begin(input)
  using here = new AskHere({ troupe, session, view, interrupt, isJson: flags.json === true })
  follower.onEvent = here.note
  const result = await followToEnd(session, interrupt, view, follower).catch((thrown: unknown) => {
    if (thrown instanceof TransientError) tell(`troupe: the session is not lost. ${laterText(session)}`)
    throw thrown
  })
  view.end()
  if (result) {
    printResult(session.id, result, flags)
    await tellRetry(session, result)
  } else tell(unfinishedText(session, interrupt.isHangUp, isHere))
  endWith(exitCodeOf(interrupt, result))
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
