/** F01: nodes are killed at random under load. The long form is `npm run faults -- --only F01`. */
import { stormRow } from '../../faults/rows/storm.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(stormRow)
