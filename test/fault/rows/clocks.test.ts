/** F23: nodes and clients whose clocks are wrong. The long form is `npm run faults -- --only F23`. */
import { clockRow } from '../../faults/rows/node/clocks.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(clockRow)
