import { execFileSync, spawn } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'

/** Answers git's smart HTTP protocol, pushes too, for the repositories of a folder. */
export function serveGit(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://origin')
  const { headers, method = 'GET' } = request
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), BACKEND)
  const child = spawn(backend, {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'dev',
      REQUEST_METHOD: method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // The backend may end without reading it.
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.once('close', () => answer(Buffer.concat(chunks), response))
}

const BACKEND = 'git-http-backend'

/** A CGI answer: its header names the status, unless that is 200 (RFC 3875). */
function answer(output: Buffer, response: ServerResponse): void {
  const end = output.indexOf('\r\n\r\n')
  for (const line of output.toString('latin1', 0, end).split('\r\n')) {
    const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(line) ?? []
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
    else if (name !== '') response.setHeader(name, value)
  }
  response.end(output.subarray(end + 4))
}
