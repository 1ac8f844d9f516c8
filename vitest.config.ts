/** Tests run beside each other against one throw-away Redis (test/support/global-setup.ts); each keeps to keys of its own. */

import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// `import 'troupe'` in workers/ and tests means src/. Vitest hands the conditions on to its processes.
const conditions = ['troupe-source', 'node', 'import', 'default']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Tests of faults mostly wait; with one process on two cores, most of the machine would do so as well.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // What hangs is found all the same: a test that starts a dozen commands needs a minute where the machine does much else.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    restoreMocks: true,
  },
})
