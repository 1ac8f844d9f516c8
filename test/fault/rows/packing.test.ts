/** F47: nodes die while they pack histories. The long form is `npm run faults -- --only F47`. */
import { packingRow } from '../../faults/rows/work/packing.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(packingRow)
