// Joins each program that `programs.mjs` names into one file. Started by build.mjs with the chosen
// Node, because the launcher's own may be too old for the bundler.
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { BUNDLED } from '../programs.mjs'
import { toPlainText } from './plain-text.mjs'

/**
 * CommonJS: an ES module that names `node:http` makes Node load its whole `fetch` and `WebSocket`
 * before anything of ours runs. What is imported only when needed gets files of its own.
 *
 * @param {string} root
 * @param {import('../programs.mjs').BundledProgram} program
 */
async function bundle(root, { main, name, apart }) {
  const build = await rolldown({
    input: { [name]: join(root, main) },
    platform: 'node',
    external: [...apart],
    onLog(level, log) {
      // Such as an import that was not found, which would be missed when it is needed.
      if (level === 'warn') throw new Error(log.message)
    },
  })
  await build.write({
    dir: dirname(join(root, main)),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: `${name}.[name].cjs`,
    // Kept in memory with the rest of the text; licences stay.
    comments: { legal: true, annotation: false, jsdoc: false },
    plugins: [plainText],
  })
  await build.close()
}

/**
 * At the very end: the bundler writes escapes as characters again.
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
