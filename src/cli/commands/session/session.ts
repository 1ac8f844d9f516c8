/** `troupe session …`: the sessions, their states and results, and their end. */
import type { Command } from 'commander'
import { addGroup } from '../../group.ts'
import { addApprovalCommand } from './approval.ts'
import { addCancelCommand, addCloseCommand } from './end.ts'
import { addExportCommand } from './file/export.ts'
import { addImportCommand } from './file/import.ts'
import { addFollowCommand } from './follow/follow.ts'
import { addForkCommand } from './fork.ts'
import { addLimitCommand } from './limit.ts'
import { addListCommand } from './list.ts'
import { addPauseCommand, addResumeCommand } from './pause.ts'
import { addPruneCommand } from './prune.ts'
import { addResultCommand } from './result.ts'
import { addRetryCommand } from './retry.ts'
import { addShowCommand } from './show.ts'
import { addTreeCommand } from './tree.ts'

export function addSessionCommands(program: Command): void {
  const group = addGroup(
    program,
    'session',
    'list, show, tree, follow, result, retry, limit, approval, pause, resume, close, cancel, fork, export, import, prune',
    [
      ['troupe session list', 'the newest ones'],
      ['troupe session follow 0199…', 'see it run'],
      ['troupe session result 0199… --wait', 'wait for a result, and print it'],
    ],
  )
  addListCommand(group)
  addShowCommand(group)
  addTreeCommand(group)
  addFollowCommand(group)
  addResultCommand(group)
  addRetryCommand(group)
  addLimitCommand(group)
  addApprovalCommand(group)
  addPauseCommand(group)
  addResumeCommand(group)
  addCloseCommand(group)
  addCancelCommand(group)
  addForkCommand(group)
  addExportCommand(group)
  addImportCommand(group)
  addPruneCommand(group)
}
