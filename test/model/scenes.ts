/** Which faults come together. Small scenes are searched each for itself; the last one mixes everything and is never whole. */
import type { Scene } from './explore.ts'

export const scenes: readonly Scene[] = [
  { name: 'no fault', faults: {} },
  { name: 're-sends', faults: { lostAnswers: 1, lateCalls: 1 } },
  { name: 'lost leases', faults: { crashes: 1, expiries: 2 } },
  { name: 'poison', faults: { expiries: 2 }, messages: 1 },
  { name: 'long turns', faults: { renews: 1 }, messages: 2 },
  { name: 'wakeups', faults: { lostJobs: 1, doubledJobs: 1, staleWakeups: 1, renews: 1, leaves: 1 } },
  { name: 'cancels', faults: { cancels: 1, abandons: 1, expiries: 1 } },
  { name: 'jobs that end', faults: { expiries: 1, lostAnswers: 1 }, mode: 'job' },
  { name: 'fail-over of a cancel', faults: { failOvers: 1, cancels: 1 }, mode: 'job', messages: 1 },
  { name: 'fail-over', faults: { failOvers: 1, expiries: 1 } },
  { name: 'asks', faults: {}, program: 'asks' },
  { name: 're-sends of answers', faults: { lostAnswers: 1, lateCalls: 1 }, program: 'asks', mode: 'job' },
  { name: 'asks that are cancelled', faults: { cancels: 1, abandons: 1, expiries: 1 }, program: 'asks' },
  { name: 'asks of lost leases', faults: { crashes: 1, expiries: 1, renews: 1 }, program: 'asks', mode: 'job' },
  { name: 'fail-over of asks', faults: { failOvers: 1, cancels: 1 }, program: 'asks', mode: 'job', messages: 3 },
  { name: 'gates', faults: {}, program: 'gates', messages: 2 },
  { name: 'gates of dead nodes', faults: { crashes: 1 }, program: 'gates', messages: 1 },
  { name: 're-sends at gates', faults: { lostAnswers: 1, lateCalls: 1 }, program: 'gates', messages: 1 },
  { name: 'gates of lost leases', faults: { crashes: 1, expiries: 1 }, program: 'gates', messages: 2 },
  { name: 'gates of cancelled runs', faults: { cancels: 1, crashes: 1 }, program: 'gates', mode: 'job' },
  { name: 'fail-over of gates', faults: { failOvers: 1, expiries: 1 }, program: 'gates', messages: 2 },
  { name: 'a fork in parts', faults: { looks: 1, cancels: 1, expiries: 1 }, messages: 3 },
  { name: 'a fork of asks in parts', faults: { looks: 1, abandons: 1 }, program: 'asks' },
]

export const mixedScene: Scene = {
  name: 'everything',
  faults: {
    crashes: 1,
    lostAnswers: 1,
    lateCalls: 1,
    expiries: 1,
    lostJobs: 1,
    doubledJobs: 1,
    staleWakeups: 1,
    renews: 1,
    leaves: 1,
    abandons: 1,
    cancels: 1,
    failOvers: 1,
  },
}
