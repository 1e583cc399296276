import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundleOf, SERVER } from '../../../packages/launcher/programs.mjs'
import { temporaryDirectory } from '../temporary-directory.ts'

const PACKAGE = new URL('../../../server/package.json', import.meta.url)

it('is the version of the package around a bundled server, not of its parent folder', () => {
  const folder = temporaryDirectory()
  const at = join(folder, 'server')
  mkdirSync(join(at, 'dist'), { recursive: true })
  symlinkSync(new URL('./node_modules', PACKAGE), join(at, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"version":"1.1.1"}')
  writeFileSync(join(at, 'package.json'), '{"version":"2.2.2","type":"module"}')
  const built = fileURLToPath(new URL('./dist', PACKAGE))
  for (const name of readdirSync(built).filter((name) => name.endsWith('.cjs')))
    copyFileSync(join(built, name), join(at, 'dist', name))

  const bundle = join(folder, bundleOf(SERVER))
  const printed = execFileSync(process.execPath, [bundle, '--version'], { encoding: 'utf8' })

  expect(printed).toBe('2.2.2\n')
})
