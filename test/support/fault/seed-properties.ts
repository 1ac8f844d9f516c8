/** The random values of properties follow from the seed of the run. A property that fails names its seed. */
import fc from 'fast-check'
import { givenSeed } from './fault-settings.ts'

if (givenSeed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: givenSeed })
