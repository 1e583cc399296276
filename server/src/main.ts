#!/usr/bin/env node
// better-sqlite3 does not refuse an older Node, it crashes; so nothing is loaded before this test.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `palisade-server: needs Node 22.18 or newer, not ${process.versions.node}; run it through npm, which brings one\n`,
  )
  process.exitCode = 78
} else {
  // Unheard, it would end the process with a stack trace.
  process.stdout.on('error', () => {
    process.stderr.write(
      'palisade-server: standard output was closed before everything was printed\n',
    )
    process.exit(1)
  })
  const { runCommandLine } = await import('./cli.ts')
  process.exitCode = await runCommandLine(process.argv.slice(2))
}

export {}
