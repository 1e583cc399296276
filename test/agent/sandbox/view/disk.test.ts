import { runSteps } from '@palisade/policy-core'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

it('lists a directory of many names in steps, with those that are not UTF-8', async () => {
  const directory = await temporaryDirectory()
  const disk = createViewDisk()
  // Long names make the directory large.
  for (let name = 0; name < 8000; name += 1)
    writeFileSync(join(directory, `${name}${'x'.repeat(40)}`), '')
  mkdirSync(join(directory, 'd'))
  mkdirSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.of(0xff)]))

  const steps = disk.listInSteps(directory)
  let count = 0
  while (steps.next().done !== true) count += 1
  const { entries, invalid } = runSteps(disk.listInSteps(directory))

  expect(count).toBeGreaterThanOrEqual(15)
  const all = disk.list(directory)
  const namesOf = (found: typeof entries) => found.map(({ name }) => name).toSorted()
  expect(namesOf(entries)).toEqual(namesOf(all.entries))
  expect(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)).toEqual(['d'])
  expect(invalid).toEqual([{ bytes: Buffer.of(0xff), isDirectory: true }])
  expect(all.invalid).toEqual(invalid)
})
