/** F10, K13: nodes that stand still for longer than their leases. */
import { zombieRow } from '../faults/rows/zombie.ts'
import { testRow } from '../support/row-tests.ts'

testRow(zombieRow)
