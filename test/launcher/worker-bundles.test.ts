import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { BUNDLED, bundleOf, SERVER } from '../../packages/launcher/programs.mjs'

it('puts the bundles of workers beside that of the server, which looks for them there', () => {
  const workers = BUNDLED.filter(({ name }) => name.endsWith('-worker'))

  expect(workers.map(({ name }) => name)).toContain('palisade-ingest-worker')
  for (const worker of workers) expect(dirname(bundleOf(worker))).toBe(dirname(bundleOf(SERVER)))
})
