/** `troupe submit <kind> [input]`: starts a session in the background. */
import type { Command } from 'commander'
import { parseKind } from '../../core/ids.ts'
import { withTroupe } from '../host/connection.ts'
import { unhostedWarning } from '../host/unhosted-notice.ts'
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
  addSessionOptions,
  type ConnectionFlags,
  type SessionFlags,
  sessionRequest,
} from '../options.ts'
import { safe, tell } from '../terminal/output.ts'
import { printAnswer } from './verb.ts'

interface SubmitFlags extends ConnectionFlags, InputFlags, AttachFlags, SessionFlags {
  readonly keepOpen?: boolean
}

export function addSubmitCommand(program: Command): void {
  const command = program
    .command('submit')
    .description('start a session in the background')
    .argument('<kind>', 'kind of its first worker, as `troupe kinds` lists them')
    .argument('[input]', 'its first message; - reads stdin')
    .option('--keep-open', 'a conversation: each further message starts another run')
  addConnectionOptions(addSessionOptions(addInputOptions(addAttachOption(command))))
  addExamples(command, [
    ['troupe submit counter 5 --as json', 'a number'],
    [
      'troupe submit surveyor \'{"folder":"/srv/docs"}\' --key survey-42',
      'one session, even if the command is repeated',
    ],
    ['troupe submit clerk "What is it?" --permissions tools=look_up --permissions kinds=', 'one tool, and no children'],
    ['troupe session result "$(troupe submit echo hi --json | jq -r .sessionId)" --wait', 'wait for the result'],
  ])
  command.action(submit)
}

async function submit(kind: string, argument: string | undefined, flags: SubmitFlags): Promise<void> {
  parseKind(kind)
  const input = await withAttachments(await readInput(argument, flags, process.stdin), flags)
  await withTroupe(flags, 'create', async (troupe) => {
    const session = await troupe.sessions.create({
      ...sessionRequest(kind, input, flags),
      keepOpen: flags.keepOpen ?? false,
    })
    const warning = session.warning ?? (await unhostedWarning('session', kind, troupe))
    if (warning) tell(`troupe: ${safe(warning)}`)
    const { id: sessionId, rootId: workerId } = session
    const object = { type: 'submitted', sessionId, workerId, warning }
    printAnswer({ objects: [object], lines: () => [`session ${sessionId}`, `worker  ${workerId}`] }, flags)
  })
}
