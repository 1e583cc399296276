#!/usr/bin/env node
// better-sqlite3 crashes on Node 20, so this check comes before any import. Argon2id is in
// node:crypto since 24.7.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 7)) {
  process.stderr.write(
    `palisade-server: needs Node 24.7 or newer, not ${process.versions.node}; ` +
      'run it through npm, which installs one\n',
  )
  process.exitCode = 78
} else {
  // Without a listener, the error would end the process with a stack trace.
  process.stdout.on('error', () => {
    process.stderr.write(
      'palisade-server: standard output was closed before everything was printed\n',
    )
    process.exit(1)
  })
  void run()
}

/** A function, because the bundle is CommonJS, which has no top-level `await`. */
async function run(): Promise<void> {
  // The variable would make the server accept an issuer's keys from a host with any certificate.
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  const { runCommandLine } = await import('./cli/run-command-line.ts')
  process.exitCode = await runCommandLine(process.argv.slice(2))
}
