/** `troupe worker …`: one worker, or the workers of a session. */
import type { Command } from 'commander'
import { addGroup } from '../../group.ts'
import { addAmendCommands } from './amend.ts'
import { addCancelCommand } from './cancel.ts'
import { addCompactCommand, addRunCommand } from './compact.ts'
import { addConfigureCommand } from './configure.ts'
import { addDiffCommand } from './diff.ts'
import { addForkCommand } from './fork.ts'
import { addHistoryCommand } from './history.ts'
import { addListCommand } from './list.ts'
import { addShowCommand } from './show.ts'

export function addWorkerCommands(program: Command): void {
  const group = addGroup(
    program,
    'worker',
    'list, show, read histories, fork, diff, compact, configure, undo, cancel',
    [['troupe worker history 0199…', 'the messages that it received']],
  )
  addListCommand(group)
  addShowCommand(group)
  addHistoryCommand(group)
  addForkCommand(group)
  addDiffCommand(group)
  addCompactCommand(group)
  addConfigureCommand(group)
  addAmendCommands(group)
  addRunCommand(group)
  addCancelCommand(group)
}
