/** F46: workers and runs are cancelled in a storm of spawns. The long form is `npm run faults -- --only F46`. */
import { cancelStormRow } from '../../faults/rows/work/cancels.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(cancelStormRow)
