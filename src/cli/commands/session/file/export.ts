/** `troupe session export <session>`: the conversation of a worker, in the format of another program. */
import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { Worker } from '../../../../client/worker.ts'
import { InputError } from '../../../../core/errors.ts'
import type { ChatMessage } from '../../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../../core/history/entry.ts'
import { escapeJson } from '../../../../words/text/escape.ts'
import { withTroupe } from '../../../host/connection.ts'
import type { ConnectionFlags } from '../../../options.ts'
import { print, safe, tell } from '../../../terminal/output.ts'
import { addCommand, eitherId, printAnswer } from '../../verb.ts'

const pageSize = 1_000

interface ExportFlags extends ConnectionFlags {
  readonly format: string
  readonly output?: string
  readonly force?: boolean
  readonly folder?: string
}

export function addExportCommand(group: Command): void {
  const command = addCommand(group, {
    name: 'export',
    description: 'the conversation of a worker, in the format of another program',
    takes: 'worker',
    options: (command) =>
      command
        .option('--format <name>', 'the format, as docs/formats.md lists them', 'troupe')
        .option('--output <file>', 'write to a file, or a row to a .sqlite3 database; default: stdout')
        .option('--force', 'write over a file or a row that exists')
        .option('--folder <path>', 'the folder that the conversation belongs to, in formats that name one'),
    examples: [
      ['troupe session export 0199… > conversation.jsonl', "troupe's own format"],
      ['troupe session export 0199… --format anthropic', 'for another program; stderr says what it cannot carry'],
    ],
  })
  command.action(exportConversation)
}

async function exportConversation(text: string, flags: ExportFlags): Promise<void> {
  const { formatOf, writeConversation } = await import('../../../../formats/formats.ts')
  const { name } = formatOf(flags.format)
  await withTroupe(flags, 'look', async (troupe) => {
    const worker = troupe.workers.get(await eitherId(troupe, text, 'worker'))
    const messages = await messagesOf(worker)
    if (messages.length === 0)
      throw new InputError(`worker ${worker.id} has no conversation: it is a handler, or it has received nothing yet.`)
    const folder = flags.folder ?? process.cwd()
    const written = writeConversation(messages, name, { id: worker.id, folder })
    const { output } = flags
    if (output !== undefined) await writeTo(output, name, written.text, flags.force === true)
    for (const warning of written.warnings) tell(`troupe: ${safe(warning)}`)
    const object = {
      type: 'exported',
      workerId: worker.id,
      format: name,
      messages: messages.length,
      warnings: written.warnings,
    }
    if (output !== undefined)
      printAnswer(
        { objects: [{ ...object, file: output }], lines: () => [`${messages.length} messages in ${safe(output)}`] },
        flags,
      )
    else if (flags.json) printAnswer({ objects: [{ ...object, text: written.text }], lines: () => [] }, flags)
    // What is unsafe for a terminal is escaped as JSON does it: the values stay the same.
    else for (const line of written.text.trimEnd().split('\n')) print(escapeJson(line))
  })
}

async function messagesOf(worker: Worker): Promise<ChatMessage[]> {
  const entries: Entry[] = []
  const { saidIn } = await import('../../../../core/history/said-in.ts')
  for (let after = -1; ; ) {
    const page = await worker.history({ after, limit: pageSize })
    entries.push(...page.map(({ entry }) => entry))
    if (page.length < pageSize) return saidIn(entries)
    after = page.at(-1)?.position ?? after
  }
}

const database = /\.(sqlite3?|db)$/

async function writeTo(file: string, format: string, text: string, isForced: boolean): Promise<void> {
  if (database.test(file)) {
    if (!format.endsWith('-row'))
      throw new InputError(`a database takes a row: write ${file} with --format amazon-q-row or kiro-row.`)
    const { writeRowTo } = await import('../../../../formats/programs/q-database.ts')
    await writeRowTo(file, text, isForced)
    return
  }
  try {
    await writeFile(file, text, { flag: isForced ? 'w' : 'wx' })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? 'it exists; add --force to write over it' : String(code)
    throw new InputError(`the file ${file} cannot be written: ${why}.`, { cause })
  }
}
