// Bundles each program of `programs.mjs`. build.mjs starts this script with the chosen Node, as the
// launcher's own may be too old for the bundler.
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { BUNDLED, bundleOf, EXTERNAL } from '../programs.mjs'
import { toPlainText } from './plain-text.mjs'

/**
 * Bundles as CommonJS: an ES module that imports `node:http` makes Node load its whole `fetch` and
 * `WebSocket` before our code runs. Dynamic imports get files of their own.
 *
 * @param {string} root
 * @param {import('../programs.mjs').BundledProgram} program
 */
async function bundle(root, program) {
  const { main, name } = program
  const build = await rolldown({
    input: { [name]: join(root, main) },
    platform: 'node',
    // Of our packages, their sources.
    resolve: { conditionNames: ['palisade-source', 'module', 'node', 'default'] },
    transform: { target: 'es2024' },
    tsconfig: false,
    external: EXTERNAL,
    onLog(level, log) {
      // A warning such as an unresolved import would fail only when the import runs.
      if (level === 'warn') throw new Error(log.message)
    },
  })
  await build.write({
    dir: dirname(join(root, bundleOf(program))),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: `${name}.[name].cjs`,
    // Comments would stay in memory with the rest of the text; licences are kept.
    comments: { legal: true, annotation: false, jsdoc: false },
    plugins: [plainText],
  })
  await build.close()
}

/**
 * Runs at the very end, because the bundler writes escapes as characters again.
 *
 * @type {import('rolldown').Plugin}
 */
const plainText = {
  name: 'plain-text',
  generateBundle(_options, files) {
    for (const file of Object.values(files))
      if (file.type === 'chunk') file.code = toPlainText(file.code)
  },
}

const [root = '.'] = process.argv.slice(2)
for (const program of BUNDLED) await bundle(root, program)
