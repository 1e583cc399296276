import { expect } from 'vitest'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'

/** The migrations of a release with one more step. */
export const NEWER = [...MIGRATIONS, () => 'CREATE TABLE more (id TEXT)']
const REMEDY = 'start this release on it once'
export const TOO_OLD = `has schema ${MIGRATIONS.length} and this release .* ${REMEDY}`

export const refusal = (message: RegExp) =>
  expect.objectContaining({ code: 'ERR_CONFIG_INVALID', message: expect.stringMatching(message) })
