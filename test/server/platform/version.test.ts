import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readVersion } from '../../../server/src/platform/version.ts'

const PACKAGE = new URL('../../../server/package.json', import.meta.url)

it('is the version of the server package', () => {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }

  expect(readVersion()).toBe(version)
})
