import type { Family } from './family.ts'
import { ADDRESS_FAMILIES } from './families/addresses.ts'
import { collected } from './families/collected.ts'
import { HOST_FAMILIES } from './families/hosts.ts'
import { ORDINARY_FAMILIES } from './families/ordinary.ts'
import { PATH_FAMILIES } from './families/paths.ts'

/** All families that a run draws from. The first two groups resemble real policies. */
export const FAMILIES: readonly Family[] = [
  collected,
  ...ORDINARY_FAMILIES,
  ...HOST_FAMILIES,
  ...ADDRESS_FAMILIES,
  ...PATH_FAMILIES,
]
