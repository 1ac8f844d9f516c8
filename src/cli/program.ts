/**
 * Duty: the tree of all commands, and the end of each: an exit code, and one sentence for an error.
 * PROG-1 Building the tree and its help loads only commander and small files. An action loads the code that talks to Redis.
 * PROG-2 Errors go to stderr as `troupe: <sentence>`. With --json the last line of stdout is {"type":"error","code","message"}, so that a
 *        program need not read prose.
 */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { redactSentence } from '../core/secret/redact.ts'
import { escapeText } from '../words/text/escape.ts'
import { addApprovalCommands } from './commands/approval/approval.ts'
import { addAskCommands } from './commands/ask/ask.ts'
import { addAuditCommand } from './commands/audit.ts'
import { addCompletionCommands } from './commands/completion.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addDevCommand } from './commands/dev/dev.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addNodeCommand } from './commands/fleet/node.ts'
import { addNodeListCommand } from './commands/fleet/node-list.ts'
import { addNodeReleaseCommand, addNodeShowCommand } from './commands/fleet/node-one.ts'
import { addPartitionCommands } from './commands/fleet/partition.ts'
import { addPauseAllCommand, addResumeAllCommand } from './commands/fleet/pause.ts'
import { addPoolCommands } from './commands/fleet/pool.ts'
import { addKindsCommand } from './commands/kinds.ts'
import { addMailboxCommands } from './commands/mailbox/mailbox.ts'
import { addNewCommand } from './commands/new/new.ts'
import { addRunCommand } from './commands/run.ts'
import { addSendCommand } from './commands/send.ts'
import { addServeCommand } from './commands/serve.ts'
import { addSessionCommands } from './commands/session/session.ts'
import { addSubmitCommand } from './commands/submit.ts'
import { addTokenCommands } from './commands/token/token.ts'
import { addToolsCommand } from './commands/tools.ts'
import { addUsageCommand } from './commands/usage.ts'
import { addWebhookCommands } from './commands/webhook/webhook.ts'
import { addWorkerCommands } from './commands/worker/worker.ts'
import { type Complaint, exitCodes, takeExitCode, toComplaint } from './exit-code.ts'
import { addHelpCommand } from './group.ts'
import { Interrupted } from './terminal/interrupt.ts'
import { paint, printJson, safe, tell, write } from './terminal/output.ts'

const footer = `
Data is on stdout, everything else on stderr. With --json stdout is one JSON
object per line, and an error is its last line:
{"type":"error","code":"…","message":"…"}

Exit codes: 0 ok, 1 it failed, 2 the command is wrong, 69 Redis or a node is
unavailable, 70 an uncaught error ended the process, 130 interrupted.
Environment, unless an option overrides it: TROUPE_REDIS_URL (else REDIS_URL),
TROUPE_NAMESPACE, TROUPE_PARTITIONS, TROUPE_WORKERS, TROUPE_MODEL,
TROUPE_PRICES, TROUPE_CONCURRENCY, TROUPE_LOG_LEVEL, TROUPE_HOST, TROUPE_PORT,
TROUPE_TOKEN, TROUPE_WEBHOOK_SECRET, TROUPE_WEBHOOK_PRIVATE; and NO_COLOR.
Keys and addresses of model providers: their own <PROVIDER>_API_KEY and
<PROVIDER>_BASE_URL.

Start with: troupe demo, or write your own: troupe new shop, then troupe dev`

/** Runs one command line and returns the exit code. Never throws. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  try {
    await buildProgram().parseAsync(args, { from: 'user' })
    return takeExitCode()
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.ok
    if (thrown instanceof Interrupted) return thrown.exitCode
    const complaint = thrown instanceof CommanderError ? usageComplaint(thrown) : toComplaint(thrown)
    complain(complaint, asksForJson(args))
    return complaint.exitCode
  }
}

/** The tree of all commands. */
export function buildProgram(): Command {
  const program = new Command('troupe')
    .description('A durable runtime for AI agents as actors, on Redis and BullMQ.')
    .version(packageFacts().version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .enablePositionalOptions()
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => write(process.stdout, text),
      writeErr: (text) => write(process.stderr, text),
      // `complain` prints all errors.
      outputError: () => {},
    })
    .addHelpText('after', footer)
  program.commandsGroup('Run:')
  addNewCommand(program)
  addDevCommand(program)
  addDemoCommand(program)
  addRunCommand(program)
  addSubmitCommand(program)
  addSendCommand(program)
  const node = addNodeCommand(program)
  addNodeListCommand(node)
  addNodeShowCommand(node)
  addNodeReleaseCommand(node)
  addServeCommand(program)
  program.commandsGroup('Look and act:')
  addSessionCommands(program)
  addWorkerCommands(program)
  addMailboxCommands(program)
  addPauseAllCommand(program)
  addResumeAllCommand(program)
  addAskCommands(program)
  addApprovalCommands(program)
  addWebhookCommands(program)
  addPartitionCommands(program)
  addPoolCommands(program)
  addKindsCommand(program)
  addToolsCommand(program)
  addDoctorCommand(program)
  addUsageCommand(program)
  addAuditCommand(program)
  addTokenCommands(program)
  addCompletionCommands(program)
  addHelpCommand(program)
  throwWithAdvice(program)
  return program
}

/** Makes commander throw its errors, each with the command whose help explains it. */
function throwWithAdvice(command: Command): void {
  command.exitOverride((error) => {
    error.nestedError = command.parent
      ? `${command.parent.name()} ${command.name()}`.replace(/^(?!troupe)/, 'troupe ')
      : 'troupe'
    // People easily put an option of a command in front of the command.
    // `node` is a command of its own beside `node list` and others.
    if (error.code === 'commander.unknownOption' && command.commands.length > 0 && command.name() !== 'node')
      error.message += ' (options stand behind the command)'
    throw error
  })
  for (const child of command.commands) throwWithAdvice(child)
}

function usageComplaint(error: CommanderError): Complaint {
  // The verb is missing, or the whole command, and commander has already printed the help on stderr.
  const isHelp = error.code === 'commander.help'
  // commander repeats what was typed, which may be an address with a password.
  const said = redactSentence(error.message)
  const sentence = isHelp ? 'a command is missing' : said.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
  const advice = isHelp ? '.' : `; see: ${error.nestedError ?? 'troupe'} --help`
  return {
    code: 'input_invalid',
    message: sentence.replace(/\.$/, '') + advice,
    exitCode: exitCodes.usage,
    stack: undefined,
  }
}

function complain({ code, message, stack, hasLines }: Complaint, json: boolean): void {
  tell(`${paint('red', 'troupe:', process.stderr)} ${hasLines ? escapeText(message) : safe(message)}`)
  if (stack) tell(`This is a fault of troupe, not yours:\n${stack.split('\n').map(safe).join('\n')}`)
  if (json) printJson({ type: 'error', code, message })
}

/** Reads the option by hand, because commander may fail before it has parsed the options. */
export function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).includes('--json')
}

/** package.json is two folders above this file, in src and in dist. */
function packageFacts(): { readonly version: string } {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
}
