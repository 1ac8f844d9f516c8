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
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    restoreMocks: true,
  },
})
