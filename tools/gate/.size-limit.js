// What an agent costs a page: core with the libraries that it brings along. A `node:` import would fail this build.
export default [
  {
    name: 'core',
    path: '../../packages/core/dist/index.js',
    ignore: ['zod'],
    limit: '29 kB',
    modifyEsbuildConfig: (config) => ({ ...config, platform: 'browser', format: 'esm' }),
  },
]
