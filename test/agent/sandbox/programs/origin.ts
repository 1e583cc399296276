import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { serveFile } from '../../clients/client-scene.ts'
import { serveGit } from './serve-git.ts'
import { removeDirectory } from '../../../remove-directory.ts'

/** A server on 127.0.0.1: a registry of npm, an index of pip, and a repository of git. */
export interface Origin {
  readonly port: number
  /** Of a server that says its version of SSH and ends. */
  readonly sshPort: number
  /** The bare repository that `/project.git` serves. */
  readonly repository: string
  readonly close: () => void
}

/** The package `demo` of npm and pip is to be had below `name`. */
export async function startOrigin(name: string): Promise<Origin> {
  const folder = mkdtempSync(join(tmpdir(), 'palisade-origin-'))
  const files = join(folder, 'files')
  const http = createHttpServer((request, response) => {
    const url = request.url ?? '/'
    if (url.startsWith('/project.git/')) serveGit(folder, request, response)
    else serveFile(files, url, response)
  })
  const ssh = createServer((socket) => socket.on('error', () => {}).end('SSH-2.0-Stub\r\n'))
  const [port, sshPort] = [await listen(http), await listen(ssh)]
  writePackages(folder, `http://${name}:${port}`)
  const repository = join(folder, 'project.git')
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', repository])
  const close = (): void => {
    http.close()
    http.closeAllConnections()
    ssh.close()
    removeDirectory(folder)
  }
  return { port, sshPort, repository, close }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function writePackages(folder: string, url: string): void {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write('files/index.html', '<title>The page</title><body>reached</body>\n')
  // Of npm: the document of the package, and its archive.
  const meta = { name: 'demo', version: '1.0.0' }
  write('npm/package/package.json', JSON.stringify(meta))
  write('npm/package/index.js', "module.exports = 'from npm'\n")
  const dist = { tarball: `${url}/demo-1.0.0.tgz` }
  const versions = { '1.0.0': { ...meta, dist } }
  write('files/demo', JSON.stringify({ name: 'demo', 'dist-tags': { latest: '1.0.0' }, versions }))
  pack(['tar', '-czf', '../files/demo-1.0.0.tgz', 'package'], join(folder, 'npm'))
  // Of pip: a wheel (PEP 427), and the page of an index that names it (PEP 503).
  const wheel = 'demo-1.0.0-py3-none-any.whl'
  write('pip/demo.py', "origin = 'from pip'\n")
  const info = 'demo-1.0.0.dist-info'
  write(`pip/${info}/METADATA`, 'Metadata-Version: 2.1\nName: demo\nVersion: 1.0.0\n')
  write(`pip/${info}/WHEEL`, 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
  write(`pip/${info}/RECORD`, '')
  write('files/simple/demo/index.html', `<a href="../../${wheel}">${wheel}</a>`)
  pack(
    ['python3', '-m', 'zipfile', '-c', `../files/${wheel}`, 'demo.py', info],
    join(folder, 'pip'),
  )
}

function pack([program = '', ...args]: readonly string[], cwd: string): void {
  execFileSync(program, args, { cwd })
}
