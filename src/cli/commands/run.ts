/** `troupe run <kind> [input]`: a session in the foreground: submitted, followed, its result printed. */
import type { Command } from 'commander'
import { TransientError } from '../../core/errors.ts'
import type { RawEvent } from '../../core/event/event.ts'
import { parseKind } from '../../core/ids.ts'
import { exitCodes } from '../exit-code.ts'
import { configOf, connectTo } from '../host/connection.ts'
import { KindHost } from '../host/kind-host.ts'
import { queuedAmong, UnhostedNotice } from '../host/unhosted-notice.ts'
import { addInputOptions, type InputFlags, readInput } from '../input.ts'
import { addConnectionOptions, addExamples, addModelOption, addNodeOptions, type NodeFlags } from '../options.ts'
import { followToEnd, type Teller } from '../terminal/follow.ts'
import { commandEndMsMax, Interrupt } from '../terminal/interrupt.ts'
import { LiveText } from '../terminal/live-text.ts'
import { printJson, safe } from '../terminal/output.ts'
import { onSuddenEnd } from '../terminal/sudden-end.ts'
import { eventLine } from '../view/event-lines.ts'
import type { Roster } from '../view/roster.ts'
import { printResult } from './result.ts'
import { addSessionOptions, type SessionFlags, sessionOrder } from './session-order.ts'

interface RunFlags extends NodeFlags, InputFlags, SessionFlags {}

const details = `
Where no live node hosts the kind and the folder of worker files has it, a node
runs in this process until the result is there.
On a terminal an agent's words are shown while its model speaks; with --json they
are events like all others.
Ctrl+C cancels the session; a second one ends this process at once.`

export function addRunCommand(program: Command): void {
  const command = program
    .command('run')
    .description('run a worker and print its result')
    .argument('<kind>', 'kind of the worker, as `troupe kinds` lists them')
    .argument('[input]', 'its first message; - reads stdin')
  addConnectionOptions(addModelOption(addNodeOptions(addSessionOptions(addInputOptions(command)))))
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
  using interrupt = new Interrupt(() => tell('troupe: interrupted (again to end at once)'), commandEndMsMax)
  await using troupe = await interrupt.orThrow(connectTo(config, 'create'))
  await using host = new KindHost(kind, troupe, config, tell)
  const isHere = await interrupt.orThrow(host.start())
  if (!isHere && flags.workers !== undefined)
    tell(`troupe: a live node hosts ${kind}: it runs there, not with the worker files of ${safe(flags.workers)}`)
  const session = await troupe.sessions.create(sessionOrder(kind, input, flags))
  onSuddenEnd({ sessionId: session.id, isLasting: true })
  tell(`troupe: session ${session.id}`)
  if (session.warning) tell(`troupe: ${safe(session.warning)}`)
  live.watch(session.rootId)
  let known: Roster | undefined
  using _notice = new UnhostedNotice(troupe, () => queuedAmong(known, kind), tell)
  const teller = flags.json ? printEvents : tellTo(live)
  const told: Teller = (commit, roster) => {
    known = roster
    teller(commit, roster)
  }
  const liveTeller = flags.json ? printJson : live.isShown ? (event: RawEvent) => live.note(event) : undefined
  const following = followToEnd(session, interrupt, told, liveTeller)
  const result = await following.catch((thrown: unknown) => {
    if (thrown instanceof TransientError)
      tell(`troupe: the session is not lost; its result later: troupe session result ${session.id} --wait`)
    throw thrown
  })
  live.end()
  if (result) printResult(session.id, result, flags)
  else tell(`troupe: the session has not ended yet; \`troupe session show ${session.id}\` says what it waits for`)
  process.exitCode = interrupt.exitCode ?? (result?.status === 'completed' ? exitCodes.ok : exitCodes.failed)
}

function printEvents(commit: readonly RawEvent[]): void {
  for (const event of commit) printJson(event)
}

function tellTo(live: LiveText): Teller {
  return (commit, roster) => {
    for (const event of commit) live.note(event)
    const line = eventLine(commit, roster)
    if (line !== undefined) live.tell(line)
  }
}
