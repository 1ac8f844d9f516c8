/** F35: a mailbox that is sent more than it can take. The long form is `npm run faults -- --only F35`. */
import { floodRow } from '../../faults/rows/work/floods.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(floodRow)
