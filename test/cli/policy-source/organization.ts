import type { AtEnd } from '../../server/temporary-directory.ts'
import { openTestServer, type TestServer } from '../../server/test-server.ts'
import { runCli, type CliRun, type CliSetting } from '../run-cli.ts'
import { temporaryDirectory, type TemporaryDirectory } from '../temporary-directory.ts'

/** An organization on a real server, a directory for files, and the command signed in to both. */
export interface CliOrganization
  extends AsyncDisposable, Pick<TestServer, 'advance' | 'evidence' | 'now'> {
  readonly directory: TemporaryDirectory
  run(argv: readonly string[], setting?: CliSetting): Promise<CliRun>
  /** Calls the API as the owner; resolves to the body. */
  call(
    method: 'GET' | 'PATCH' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    payload?: object,
  ): Promise<unknown>
  /** Signs in with a token that has only these permissions. */
  limitTo(permissions: readonly string[]): Promise<void>
}

export async function openCliOrganization(atEnd?: AtEnd): Promise<CliOrganization> {
  const directory = await temporaryDirectory()
  const opened = await openTestServer(atEnd)
  const { server, evidence, advance, now, createOrganization, send, signIn } = opened
  const { personal_token } = await createOrganization('acme', 'alice')
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const as = await signIn('alice', personal_token)
  const env = {
    PALISADE_SERVER: url,
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  async function call(
    method: 'GET' | 'PATCH' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    payload?: object,
  ): Promise<unknown> {
    const options = payload === undefined ? { as } : { as, payload }
    const response = await send(method, path, options)
    if (response.statusCode >= 300) throw new Error(`${path}: ${response.body}`)
    return response.body === '' ? null : response.json()
  }
  return {
    directory,
    evidence,
    advance,
    now,
    run: (argv, setting) => runCli(argv, { cwd: directory.path, env, ...setting }),
    call,
    async limitTo(permissions) {
      const created = await call('POST', '/api/v1/user/access-tokens', {
        name: 'limited',
        permissions,
        expires_in_days: 1,
      })
      env.PALISADE_TOKEN = (created as { token: string }).token
    },
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

export const WEB = `policies:
  - name: web
    scope: {}
    rules:
      - name: sites
        actions: [connect:tcp]
        decision: allow
        resources:
          - example.com:443
          - '*.example.com:443'
`
