import type { Family } from './family.ts'
import { ADDRESS_FAMILIES } from './families/addresses.ts'
import { collected } from './families/collected.ts'
import { HOST_FAMILIES } from './families/hosts.ts'
import { ORDINARY_FAMILIES } from './families/ordinary.ts'
import { PATH_FAMILIES } from './families/paths.ts'

/** Every kind of policies that a run draws from; the first two groups are what people write. */
export const FAMILIES: readonly Family[] = [
  collected,
  ...ORDINARY_FAMILIES,
  ...HOST_FAMILIES,
  ...ADDRESS_FAMILIES,
  ...PATH_FAMILIES,
]
