import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createRepository } from '../../../examples/demo/world/git-repository.ts'

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** For each client something to fetch from a static web server; `folder` is empty before. */
export async function writeOriginFiles(folder: string, hasGit: boolean): Promise<void> {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write('files/index.html', '<title>The page</title>reached\n')
  // A package of npm.
  const versions = { '1.0.0': { name: 'demo', version: '1.0.0', dist: { tarball: 'http://x/' } } }
  write('files/demo', JSON.stringify({ name: 'demo', 'dist-tags': { latest: '1.0.0' }, versions }))
  // An index of pip (PEP 503).
  write('files/simple/demo/index.html', '<a href="demo-1.0.0.tar.gz">demo-1.0.0.tar.gz</a>')
  // A flat repository of apt without packages.
  write(
    'files/apt/Release',
    `Date: Sat, 21 Nov 2026 12:00:00 UTC\nSHA256:\n ${EMPTY_SHA256} 0 Packages\n`,
  )
  write('files/apt/Packages', '')
  if (hasGit) await createRepository(folder, { PATH: process.env['PATH'], HOME: folder })
}
