/** `troupe approval approve` and `troupe approval deny`: decide about tool calls; their workers go on. */
import type { Command } from 'commander'
import type { Troupe } from '../../../client/client.ts'
import type { Decided } from '../../../client/person/approvals.ts'
import { ConflictError, InputError, NotFoundError } from '../../../core/errors.ts'
import { endWith, exitCodes, toComplaint } from '../../exit-code.ts'
import { editArguments } from '../../terminal/edit-arguments.ts'
import { safe, tell } from '../../terminal/output.ts'
import type { Answer } from '../../view/answer.ts'
import { addVerb, eitherId, printAnswer } from '../verb.ts'

interface DecideFlags {
  readonly all?: boolean
  readonly session?: string
  readonly by?: string
  readonly reason?: string
  readonly trust?: boolean
  readonly edit?: boolean
  readonly json?: boolean
}

/** How many open approvals one command decides about. */
const allMost = 1_000

export function addApproveCommand(group: Command): void {
  addVerb<DecideFlags>(group, {
    name: 'approve',
    description: 'let tool calls run',
    options: (command) =>
      addDecisionOptions(command)
        .option('--trust', 'do not ask about further calls of this tool in this session')
        .option('--edit', 'change the arguments in $EDITOR first'),
    examples: [
      ['troupe approval approve 0199…', 'it runs with the arguments that `show` prints'],
      ['troupe approval approve 0199… --trust', 'and the next calls of this tool run without a question'],
      ['troupe approval approve 0199… --edit', 'with other arguments'],
      ['troupe approval approve --all --session 0199…', 'all that a session waits for now'],
    ],
    details: `No call of a model's reply runs until all of the reply are decided.`,
    purpose: 'change',
    answer: (troupe, { more, flags }) => decideAll(troupe, 'approve', more.flat().map(String), flags),
  })
}

export function addDenyCommand(group: Command): void {
  addVerb<DecideFlags>(group, {
    name: 'deny',
    description: 'do not let tool calls run; their model is told why',
    options: addDecisionOptions,
    examples: [
      ['troupe approval deny 0199… --reason "the invoice is paid already"', 'the model reads the reason'],
      ['troupe approval deny --all --session 0199…', 'all that a session waits for now'],
    ],
    details: `If one call is denied, none of the same reply runs, unless its kind says
approval: { onDeny: 'others' }.`,
    purpose: 'change',
    answer: (troupe, { more, flags }) => decideAll(troupe, 'deny', more.flat().map(String), flags),
  })
}

function addDecisionOptions(command: Command): Command {
  return command
    .argument('[approvals...]', 'ids of the approvals')
    .option('--all', 'all that are open now')
    .option('--session <id>', 'with --all: only those of this session')
    .option('--by <who>', 'name of the one who decides, shown to people')
    .option('--reason <text>', 'the reason, shown to the model and to people')
}

/** Approvals that were decided with another one, or by somebody else, need nothing more. An id that is wrong fails the command, and the others are decided. */
async function decideAll(
  troupe: Troupe,
  decision: 'approve' | 'deny',
  given: readonly string[],
  flags: DecideFlags,
): Promise<Answer> {
  const { by, reason, trust, edit } = flags
  const ids = await idsOf(troupe, given, flags)
  if (edit && ids.length > 1) throw new InputError('--edit takes one approval: name its id.')
  const decided: Decided[] = []
  let refused = 0
  for (const id of ids) {
    try {
      const args = edit ? await editedArguments(troupe, id) : undefined
      const more = { ...(args !== undefined && { arguments: args }), ...(trust && { trust: 'tool' as const }) }
      decided.push(await troupe.approvals.decide(id, { decision, by, reason, ...more }))
    } catch (thrown) {
      const isWrong = thrown instanceof NotFoundError || thrown instanceof InputError
      if (ids.length === 1 || !(isWrong || thrown instanceof ConflictError)) {
        printAnswer(decidedAnswer(decision, decided), flags)
        throw thrown
      }
      refused++
      if (isWrong) endWith(exitCodes.failed)
      tell(`troupe: ${safe(toComplaint(thrown).message)}`)
    }
  }
  if (refused > 0 && decided.length === 0)
    throw new InputError(`none of ${refused} approvals could be decided: \`troupe approval list\` shows what is open.`)
  const note = ids.length === 0 ? 'Nothing waits for a decision.' : undefined
  return { ...decidedAnswer(decision, decided), note }
}

/** Undefined for a call that is decided: nobody needs to write arguments for it, and the decision below is refused. */
async function editedArguments(troupe: Troupe, id: string): Promise<unknown> {
  const approval = await troupe.approvals.get(id)
  return approval.state === 'open' ? editArguments(approval) : undefined
}

function decidedAnswer(decision: 'approve' | 'deny', decided: readonly Decided[]): Answer {
  const word = decision === 'approve' ? 'approved' : 'denied'
  return {
    objects: decided.map(({ askId, ...one }) => ({ type: word, approvalId: askId, ...one })),
    lines: () =>
      decided.flatMap(({ askId, alsoApproved }) => [
        `${word} ${askId}`,
        ...alsoApproved.map((id) => `approved ${id}, because its tool is trusted now`),
      ]),
  }
}

async function idsOf(troupe: Troupe, given: readonly string[], { all, session }: DecideFlags): Promise<string[]> {
  if (given.length > 0) {
    if (all || session !== undefined) throw new InputError('name ids, or --all with --session, not both.')
    return [...new Set(given)]
  }
  if (!all) throw new InputError('name the id of an approval, or --all: `troupe approval list` prints the ids.')
  const sessionId = session === undefined ? undefined : await eitherId(troupe, session, 'session')
  return (await troupe.approvals.list({ sessionId, limit: allMost })).map(({ id }) => id)
}
