import { expect, test } from 'vitest'
import { BackgroundTasks } from '../../../../src/core/history/run/background-tasks.ts'

test('ends of the tasks of another conversation, which a branch begins with, do not count for its own tasks', () => {
  const tasks = new BackgroundTasks()
  tasks.told(['of the first conversation'])
  const task = { call: 1, id: 'own', kind: 'k', name: 'n', detached: true } as const
  tasks.started([task])
  expect(tasks.untold).toEqual([task])
  tasks.told(['own'])
  expect(tasks.untold).toEqual([])
})
