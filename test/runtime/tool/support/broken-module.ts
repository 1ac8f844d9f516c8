/** Cannot be loaded. */
throw new Error('broken on purpose')
