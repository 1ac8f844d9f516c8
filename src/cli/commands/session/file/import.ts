/** `troupe session import <file>`: a conversation that another program kept goes on here. */
import type { Command } from 'commander'
import { parseKind } from '../../../../core/ids.ts'
import { withTroupe } from '../../../host/connection.ts'
import { unhostedWarning } from '../../../host/unhosted-notice.ts'
import { addSessionOptions, type ConnectionFlags, type SessionFlags, sessionRequest } from '../../../options.ts'
import { safe, tell } from '../../../terminal/output.ts'
import { addCommand, printAnswer } from '../../verb.ts'
import { readConversationText } from './conversation-file.ts'

interface ImportFlags extends ConnectionFlags, SessionFlags {
  readonly kind: string
  readonly format?: string
  readonly conversation?: string
  readonly send?: string
}

export function addImportCommand(group: Command): void {
  const command = addCommand(group, {
    name: 'import',
    description: 'a new session that goes on with a conversation of another program',
    options: (command) =>
      addSessionOptions(
        command
          .argument('<file>', 'the conversation: JSON, JSON lines or an SQLite database; - reads stdin')
          .requiredOption('--kind <kind>', 'kind of the first worker, an agent')
          .option('--format <name>', 'the format, as docs/formats.md lists them; default: recognised by the content')
          .option('--conversation <id>', 'which conversation, if the file holds several')
          .option('--send <text>', 'also send this as the next message'),
      ),
    examples: [
      ['troupe session import chat.json --kind clerk', 'the next message goes on with it'],
      [
        'troupe session import data.sqlite3 --conversation /srv/app --kind clerk',
        'of Amazon Q: the one of this folder',
      ],
    ],
  })
  command.action(importConversation)
}

async function importConversation(file: string, flags: ImportFlags): Promise<void> {
  parseKind(flags.kind)
  const { readConversation } = await import('../../../../formats/formats.ts')
  const read = readConversation(await readConversationText(file, flags, process.stdin), flags)
  await withTroupe(flags, 'create', async (troupe) => {
    const { messages, format } = read
    const request = { ...sessionRequest(flags.kind, flags.send, flags), history: messages, keepOpen: true }
    const session = await troupe.sessions.create(request)
    // A conversation that is refused was not cut either.
    for (const warning of read.warnings) tell(`troupe: ${safe(warning)}`)
    const warning = session.warning ?? (await unhostedWarning('session', flags.kind, troupe))
    if (warning) tell(`troupe: ${safe(warning)}`)
    const { id: sessionId, rootId: workerId } = session
    const object = {
      type: 'imported',
      sessionId,
      workerId,
      format,
      messages: messages.length,
      warnings: read.warnings,
      warning,
    }
    const lines = () => [`session ${sessionId}`, `worker  ${workerId}`]
    const next = flags.send === undefined ? ` Go on: troupe send ${workerId} "…"` : ''
    printAnswer(
      { objects: [object], lines, note: `${messages.length} messages of the format ${format}.${next}` },
      flags,
    )
  })
}
